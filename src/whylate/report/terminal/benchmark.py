"""One screen of a benchmark: the figures of its points, and what they show."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from whylate.quantities import format_estimate
from whylate.report.terminal.lines import (
    board_line,
    figure_cell,
    hanging,
    load_line,
    print_report_path,
    trust_lines,
    widest_table,
)
from whylate.summary.benchmarks.model import BenchmarkSummary, Measured, PointFigures
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
            Text(f"{plain(heading, 40)}: {plain(text, 80)}", style="dim")
            for heading, text in _shared_facts(summary.points).items()
        ),
        Text(f"Intervals: {summary.interval_note}", style="dim"),
        *(Text(plain(note, 400), style="dim") for note in summary.notes),
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


def figure_headings(points: Sequence[PointFigures]) -> dict[str, str]:
    """Return the headings of the figures that have a column, by key."""
    return {
        key: figure.heading
        for point in points
        for key, figure in point.figures.items()
        if figure.heading
    }


def fact_headings(points: Sequence[PointFigures]) -> list[str]:
    """Return the headings of facts that any point has."""
    return list(
        dict.fromkeys(heading for point in points for heading, text in point.texts.items() if text)
    )


def counter_headings(summary: BenchmarkSummary) -> dict[str, str]:
    """Return the headings of counters, by name."""
    names = dict.fromkeys(name for point in summary.points for name in point.counts)
    return {name: f"{name}/{summary.counts_per}" for name in names}


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


def _shared_facts(points: Sequence[PointFigures]) -> dict[str, str]:
    """Return the facts that are the same at all of several points."""
    if len(points) < 2:
        return {}
    return {
        heading: points[0].texts[heading]
        for heading in fact_headings(points)
        if heading and len({point.texts.get(heading) for point in points}) == 1
    }


def _table(summary: BenchmarkSummary, *, one_line: bool) -> Table:
    """Return the table of points; one_line: intervals stand beside their figures."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    figures = figure_headings(summary.points)
    shared = _shared_facts(summary.points)
    facts = [heading for heading in fact_headings(summary.points) if heading not in shared]
    counters = counter_headings(summary)
    heading, names = shorten_names([point.name for point in summary.points])
    table.add_column(Text(plain(heading, 40)), overflow="fold")
    for text in figures.values():
        table.add_column(Text(plain(text, 40)), justify="right", overflow="fold")
    for text in facts:
        table.add_column(text, overflow="fold")
    for text in counters.values():
        table.add_column(Text(plain(text, 40)), justify="right", overflow="fold")
    for point, name in zip(summary.points, names, strict=True):
        cells = [format_measured(point.figures.get(key)) for key in figures]
        counts = [format_measured(point.counts.get(counter)) for counter in counters]
        table.add_row(
            Text(plain(name, 80)),
            *(figure_cell(*cell, "bold", one_line=one_line) for cell in cells),
            *(Text(plain(point.texts.get(text, "–"), 60)) for text in facts),
            *(figure_cell(*cell, "", one_line=one_line) for cell in counts),
        )
    return table
