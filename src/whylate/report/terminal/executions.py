"""Print executions with counters: figures, lines, and the class of each."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.quantities import format_count, format_number
from whylate.report.executions import (
    account_text,
    classes_text,
    figure_cells,
    line_figures,
    line_text,
    longest,
    more_text,
    name_text,
    peak_lines,
    ratio_reasons,
)
from whylate.report.terminal.lines import hanging, print_report_path
from whylate.summary.executions import (
    CounterFigures,
    ExecutionsSummary,
    FittedLine,
    ListedExecution,
)
from whylate.text import plain

#: Executions that are printed one by one, and characters of a place.
_MOST_PRINTED = 20
_PLACE = 40


def print_executions(summary: ExecutionsSummary, console: Console, page: str | None) -> None:
    """Print executions; texts of the file are plain text, never markup. page: where it is."""
    console.print(Text(account_text(summary)), style="bold")
    console.print()
    print_counters(summary.counters, summary.fits, console)
    console.print()
    if summary.listed:
        shown = longest(summary, _MOST_PRINTED)
        console.print(_listed(summary, shown))
        if more := more_text(summary, len(shown)):
            console.print(Text(more, style="dim"))
    console.print(Text(classes_text(summary), style="bold" if summary.classes else ""))
    console.print()
    for text in summary.cautions:
        console.print(hanging("note", plain(text, 400), "yellow", ""))
    for text in summary.about.lacks:
        console.print(hanging("missing", plain(text, 400), "yellow", ""))
    print_report_path(page, console)


def print_counters(
    counters: Sequence[CounterFigures], fits: Sequence[FittedLine], console: Console
) -> None:
    """Print figures of counters, and the line of each."""
    console.print(_figures(counters))
    for reason in ratio_reasons(counters):
        console.print(Text(reason, style="dim"))
    for text in peak_lines(counters):
        console.print(Text(text))
    if fits:
        console.print()
    for fit in fits:
        console.print(Text(line_text(fit), style="bold" if fit.refused is None else "dim"))
        if fit.refused is None:
            console.print(Text(f"  {line_figures(fit)}", style="dim"))


def _table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)


def _figures(counters: Sequence[CounterFigures]) -> Table:
    table = _table()
    table.add_column("", overflow="fold")
    for heading in ("smallest", "median", "mean", "largest"):
        table.add_column(heading, justify="right", overflow="fold")
    # Refused of all it is a line below the table.
    with_ratio = any(figures.most_frequent is not None for figures in counters)
    if with_ratio:
        table.add_column("most frequent", justify="right", overflow="fold")
        table.add_column("largest / most frequent", justify="right", overflow="fold")
    for figures in counters:
        cells = figure_cells(figures)
        table.add_row(
            Text(name_text(figures.name, figures.unit)), *(cells if with_ratio else cells[:4])
        )
    return table


def _listed(summary: ExecutionsSummary, listed: Sequence[ListedExecution]) -> Table:
    """Lay out executions, a row each."""
    placed = any(execution.place is not None for execution in listed)
    difference = "Δ" if summary.marks is not None else ""
    table = _table()
    table.add_column("", justify="right")
    if placed:
        table.add_column("where", overflow="fold")
    for name in listed[0].values:
        table.add_column(Text(difference + name_text(name)), justify="right", overflow="fold")
    if summary.classes is not None:
        table.add_column("class", overflow="fold")
    for execution in listed:
        table.add_row(*_cells(execution, placed=placed))
    return table


def _cells(execution: ListedExecution, *, placed: bool) -> list[Text]:
    cells = [format_count(execution.number)]
    if placed:
        cells.append(plain(execution.place or "", _PLACE))
    cells += [
        format_count(int(value)) if value.is_integer() else format_number(value)
        for value in execution.values.values()
    ]
    if execution.execution_class is not None:
        cells.append(execution.execution_class)
    return [Text(cell) for cell in cells]
