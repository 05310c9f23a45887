"""One screen of a benchmark: the figures of its points, and what they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from whylate.quantities import format_estimate, format_span_ns
from whylate.report.sentences import hit_lines
from whylate.report.terminal.lines import (
    board_line,
    figure_cell,
    hanging,
    load_line,
    print_report_path,
    trust_lines,
    widest_table,
)
from whylate.report.terminal.off import print_off
from whylate.summary.benchmarks.model import BenchmarkSummary, Measured
from whylate.text import plain

#: A value and its interval.
Cell = tuple[str, str]


def print_benchmark(
    summary: BenchmarkSummary, console: Console, report_path: str | None = None
) -> None:
    """Print the summary; texts of the board are plain text, never markup."""
    console.print(board_line(summary.board, summary.kernel, summary.cpu_model))
    console.print(Text(subject(summary)))
    for load in summary.loads:
        console.print(load_line(load))
    console.print()
    if summary.off is not None:
        print_off(summary.off, console)
    else:
        console.print(widest_table(lambda one_line: _table(summary, one_line=one_line), console))
    for line in _below(summary):
        console.print(line)
    print_report_path(report_path, console)


def _below(summary: BenchmarkSummary) -> list[RenderableType]:
    """Return what stands below the figures: what they are, what they show, and the trust."""
    return [
        *(
            hanging("refused", plain(f"{point.name}: {point.refused}", 400), "red")
            for point in summary.points
            if point.refused
        ),
        *(
            Text(f"{plain(column.heading, 40)}: {column.cells[0][0]}", style="dim")
            for column in table_columns(summary)
            if _is_shared(column)
        ),
        Text(f"Intervals: {summary.interval_note}", style="dim"),
        *(Text(plain(note, 400), style="dim") for note in summary.notes),
        *(Text(line, style="dim") for line in hit_lines(summary.hits)),
        Text(),
        *(Text(plain(line, 300)) for line in summary.models),
        *_findings(summary),
        *(hanging("warning", plain(warning.text, 300), "yellow") for warning in summary.warnings),
        *trust_lines(summary.trust),
    ]


def _findings(summary: BenchmarkSummary) -> list[RenderableType]:
    return [
        hanging("finding", plain(f"{finding.text}.", 600), "bold") for finding in summary.findings
    ]


def print_findings(summary: BenchmarkSummary, console: Console) -> None:
    """Print what the figures show, or that they show nothing by themselves."""
    console.print(Text(subject(summary)))
    for line in _findings(summary):
        console.print(line)
    if not summary.findings:
        console.print(
            Text(
                "These figures show nothing by themselves: whylate compare shows the effect of a "
                "setting, and --counters what the CPU did."
            )
        )
    for part in trust_lines(summary.trust):
        console.print(part)


def subject(summary: BenchmarkSummary) -> str:
    """Return what was measured, in one line."""
    if summary.off is not None:
        seen = "traced" if summary.off.method == "tracepoints" else "sampled"
        sampled = f"{seen} for {format_span_ns(summary.off.sampled_ns)}"
        virtual = ["in virtual time"] if summary.virtual_time else []
        return " · ".join([summary.off.what, sampled, *virtual])
    rounds = f"{summary.rounds} round{'' if summary.rounds == 1 else 's'}"
    each = f" of {summary.repetitions} repetitions" if summary.repetitions > 1 else ""
    parts = [summary.workload, plain(summary.common, 120)]
    parts += [plain(text, 80) for text in summary.context]
    parts += [rounds + each, "in virtual time" if summary.virtual_time else ""]
    return " · ".join(filter(None, parts))


def format_measured(measured: Measured | None) -> Cell:
    """Format a figure and its interval; "–" and "" where there is none."""
    if measured is None:
        return "–", ""
    return format_estimate(measured.value, measured.low, measured.high)


@dataclass(frozen=True)
class Column:
    """A column of the table of points. cells: of each a value and its interval, or a text and "".

    style: of the values; None in a column of texts.
    """

    heading: str
    cells: Sequence[Cell]
    style: str | None = None


def table_columns(summary: BenchmarkSummary) -> list[Column]:
    """Return the figures that have a heading, the facts that any point has, and the counters."""
    points = summary.points
    figures = {
        key: figure.heading
        for point in points
        for key, figure in point.figures.items()
        if figure.heading
    }
    facts = dict.fromkeys(
        heading for point in points for heading, text in point.texts.items() if text
    )
    counters = dict.fromkeys(name for point in points for name in point.counts)
    return [
        *(
            Column(
                plain(heading, 40), [format_measured(p.figures.get(key)) for p in points], "bold"
            )
            for key, heading in figures.items()
        ),
        *(
            Column(heading, [(plain(p.texts.get(heading, "–"), 80), "") for p in points])
            for heading in facts
        ),
        *(
            Column(
                plain(f"{name}/{summary.counts_per}", 40),
                [format_measured(p.counts.get(name)) for p in points],
                "",
            )
            for name in counters
        ),
    ]


def shorten_names(names: Sequence[str]) -> tuple[str, list[str]]:
    """Split names into the words that all share at their ends, and the rest of each."""
    words = [name.split(" ") for name in names]
    least = min(map(len, words), default=1) - 1
    if len(words) < 2 or not least:
        return "", list(names)
    first = words[0]
    ahead = next((n for n in range(least) if any(w[n] != first[n] for w in words)), least)
    least -= ahead
    behind = next(
        (n for n in range(least) if any(w[-1 - n] != first[-1 - n] for w in words)), least
    )
    shared = first[:ahead] + first[len(first) - behind :]
    rests = [" ".join(w[ahead : len(w) - behind]).strip(",") for w in words]
    return " ".join(shared).strip(","), rests


def _is_shared(column: Column) -> bool:
    """Whether a column holds the same fact of all of several points."""
    texts = column.cells if column.style is None and column.heading else ()
    return len(texts) > 1 and len(set(texts)) == 1


def _table(summary: BenchmarkSummary, *, one_line: bool) -> Table:
    """Return the table of points; one_line: intervals stand beside their figures."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    heading, names = shorten_names([point.name for point in summary.points])
    table.add_column(Text(plain(heading, 40)), overflow="fold")
    columns = [column for column in table_columns(summary) if not _is_shared(column)]
    for column in columns:
        justify: JustifyMethod = "left" if column.style is None else "right"
        table.add_column(Text(column.heading), justify=justify, overflow="fold")
    for number, name in enumerate(names):
        cells = ((column.cells[number], column.style) for column in columns)
        table.add_row(
            Text(plain(name, 80)),
            *(
                Text(plain(cell[0], 60))
                if style is None
                else figure_cell(*cell, style, one_line=one_line)
                for cell, style in cells
            ),
        )
    return table
