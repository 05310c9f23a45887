"""Print an imported run: what another tool recorded, and what is missing."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.quantities import format_count, format_general, format_short_ns
from whylate.recording.imported.recording import About
from whylate.report.terminal.executions import print_executions
from whylate.report.terminal.lines import hanging
from whylate.summary.executions import ExecutionsSummary
from whylate.summary.imported import ImportedSummary, NumbersSummary
from whylate.text import plain

#: So much of the source's SHA-256 is printed.
_DIGITS = 12
_STYLES = {"fail": "bold red", "no verdict": "bold red"}


def print_imported(
    summary: ImportedSummary | NumbersSummary | ExecutionsSummary,
    console: Console,
    page: str | None = None,
) -> None:
    """Print an imported recording; texts of the file are plain text, never markup.

    page: where that of executions is.
    """
    about = summary.about
    name = f" · {plain(about.name, 100)}" if about.name and about.kind == "latencies" else ""
    console.print(
        Text.assemble((plain(about.tool, 60), "bold"), f" · {plain(about.source, 200)}{name}")
    )
    console.print(Text(_origin(about), style="dim"))
    if isinstance(summary, NumbersSummary):
        _print_numbers(summary, console)
        return
    if isinstance(summary, ExecutionsSummary):
        print_executions(summary, console, page)
        return
    console.print(Text(_account(summary)), style="bold")
    console.print()
    console.print(_figures(summary))
    for reason in _reasons(summary):
        console.print(Text(reason, style="dim"))
    console.print(Text(f"No intervals: {summary.no_intervals}", style="dim"))
    console.print()
    lines = [("missing", "yellow", text) for text in about.lacks]
    lines += [
        (limit.verdict, _STYLES[limit.verdict], f"{limit.text}: {limit.why}")
        for limit in summary.requirements
    ]
    for label, style, text in lines:
        console.print(hanging(label, plain(text, 400), style, ""))


def _origin(about: About) -> str:
    run = f"run {about.run}, " if about.run > 1 else ""
    return f"{run}SHA-256 {about.sha256[:_DIGITS]}…, imported {plain(about.imported, 40)}"


def _account(summary: ImportedSummary) -> str:
    """Say how many activations are known, and where they are."""
    about = summary.about
    overruns = f"; {format_count(about.overruns)} overruns" if about.overruns else ""
    if summary.activations is None:
        return f"a summary; of how many activations is not known{overruns}"
    noun = "activation" if summary.activations == 1 else "activations"
    beyond = ""
    if about.overflow:
        inside = format_count(summary.activations - about.overflow)
        beyond = f" = {inside} seen + {format_count(about.overflow)} beyond the histogram's end"
    return f"{format_count(summary.activations)} {noun}{beyond}{overruns}"


def _figures(summary: ImportedSummary) -> Table:
    """Lay out the figures that there are, a column for each."""
    # Most tools count whole microseconds: no more digits are known.
    known = {
        name: f"{'≥ ' if estimate.at_least else ''}{format_short_ns(estimate.value)}"
        for name, estimate in summary.latency_ns.items()
        if estimate.value is not None
    }
    if summary.mean_ns is not None:
        least, most = (format_short_ns(round(summary.mean_ns)),
                       format_short_ns(round(summary.mean_most_ns or summary.mean_ns)))  # fmt: skip
        known["mean"] = least if least == most else f"{least} … {most}"
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    for name in known:
        table.add_column(Text(plain(name, 40)), justify="right", overflow="fold")
    table.add_row(*known.values())
    return table


def _reasons(summary: ImportedSummary) -> list[str]:
    """Say why figures are missing: a reason that several share appears once."""
    reasons = [estimate.reason for estimate in summary.latency_ns.values() if estimate.reason]
    return [plain(f"– {reason}", 200) for reason in dict.fromkeys(reasons)][:1]


def _print_numbers(summary: NumbersSummary, console: Console) -> None:
    about = summary.about
    name = f" of {plain(about.name, 100)}" if about.name else ""
    unit = f", {plain(about.unit, 40)}" if about.unit else ""
    noun = "value" if summary.n == 1 else "values"
    console.print(Text(f"{format_count(summary.n)} {noun}{name}{unit}"), style="bold")
    console.print()
    figures = {
        "smallest": summary.smallest,
        "median": summary.median,
        "mean": summary.mean,
        "largest": summary.largest,
        "sd": summary.sd,
    }
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    for label, value in figures.items():
        if value is not None:
            table.add_column(label, justify="right", overflow="fold")
    table.add_row(*(format_general(value) for value in figures.values() if value is not None))
    console.print(table)
    console.print(Text("Their times and boots are not known.", style="dim"))
    for text in about.lacks:
        console.print(hanging("missing", plain(text, 400), "yellow", ""))
