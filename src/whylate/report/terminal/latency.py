"""Print one recording's latencies, and how far to trust them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from whylate.quantities import format_interval_ns
from whylate.report.sentences import (
    QUANTILES,
    accounting,
    estimate_text,
    event_lines,
    hit_lines,
    injected_fault,
    observer_lines,
    section_lines,
    stage_lines,
    thread_label,
    threads_shown,
    unseen_bound,
    virtual_time,
    workload,
    worst_first,
)
from whylate.report.terminal.lines import (
    VERDICT_STYLES,
    board_line,
    figure_cell,
    fits,
    hanging,
    load_line,
    print_report_path,
    trust_lines,
    widest_table,
)
from whylate.report.terminal.sections import print_section
from whylate.report.terminal.waits import print_waits
from whylate.summary.model import Estimate, Figures, Requirement, Summary
from whylate.text import plain

#: More CPUs than this do not fit on one screen: the worst few stand for them.
_ALL_SHOWN = 4
_WORST_SHOWN = 3
#: Innermost calls of a crash.
_FRAMES = 8
#: Columns that a label needs at least: a longer label is folded.
_LABEL = 12
_FOOTNOTES = "¹²³⁴⁵⁶⁷⁸⁹"


def print_summary(
    summary: Summary, console: Console, report_path: str | None = None, why: str | None = None
) -> None:
    """Print the summary to `console`; why: the answer of explain in one line.

    Texts of the board are plain text: never markup, control characters visible. Colour alone
    carries no information.
    """
    console.print(board_line(summary.board, summary.kernel, summary.cpu_model))
    console.print(Text(workload(summary)))
    if summary.state != "complete":
        console.print(
            Text(f"run {plain(summary.state, 40)} before its planned end", style="yellow")
        )
    for load in summary.loads:
        console.print(load_line(load))
    for fault in summary.causes:
        console.print(Text(injected_fault(fault), style="yellow"))
    if summary.virtual_time:
        console.print(Text(virtual_time(summary)))
    console.print(Text(accounting(summary)), style="bold")
    for text in section_lines(summary):
        console.print(Text(text))
    console.print()
    rows, left_out = _rows(summary)
    reasons: dict[str, str] = {}
    console.print(_table(rows, reasons, console))
    notes = (
        left_out,
        *(f"{_footnote(reasons, reason)} {reason}" for reason in dict.fromkeys(reasons.values())),
        plain(f"Intervals: {summary.interval_note}", 200),
        *stage_lines(summary),
        *observer_lines(summary),
        *event_lines(summary),
        *hit_lines(summary.hits),
    )
    for note in filter(None, notes):
        console.print(Text(note, style="dim"))
    console.print()
    if summary.waits:
        print_waits(summary, console)
        console.print()
    if summary.section is not None:
        print_section(summary, summary.section, console)
    console.print(Text(unseen_bound(summary)))
    for line in _below(summary, why):
        console.print(line)
    print_report_path(report_path, console)


def _below(summary: Summary, why: str | None) -> list[RenderableType]:
    """Return what stands below the figures: why, warnings, requirements, trust, crash."""
    crash = next((crash for crash in summary.crashes if crash.fatal), None)
    frames = crash.backtrace[:_FRAMES] if crash is not None else []
    return [
        *([hanging("why", why, "bold")] if why is not None else []),
        *(hanging("warning", plain(warning.text, 300), "yellow") for warning in summary.warnings),
        *map(_requirement_line, summary.requirements),
        *trust_lines(summary.trust),
        *(Text(f"  {plain(frame, 120)}", style="dim") for frame in frames),
    ]


@dataclass(frozen=True)
class _Row:
    """A row of figures: of all together, of a stage, of a CPU, or of a thread.

    intervals: False for a stage, whose intervals are on the page.
    """

    label: str
    style: str
    latency_ns: Mapping[str, Estimate]
    intervals: bool = True


def _rows(summary: Summary) -> tuple[list[_Row], str]:
    """Return the rows, and a line that says what is left out."""
    rows = [
        _Row("all", "bold", summary.together.latency_ns),
        *(
            _Row(f"{name} latency", "", stage.latency_ns, intervals=False)
            for name, stage in summary.together.stages.items()
        ),
    ]
    if not summary.scheduled:
        threads = [] if summary.threads == 1 else summary.per_thread[:_ALL_SHOWN]
        left_out = threads_shown(summary, len(threads)) if threads else ""
        rows += [_Row(thread_label(thread), "", thread.latency_ns) for thread in threads]
        return rows, f"{left_out}; more are in the report" if left_out else ""
    cpus = _shown_cpus(summary.per_cpu)
    rows += [_Row(f"cpu {cpu.cpu}", "", cpu.latency_ns) for cpu in cpus]
    rest = len(summary.per_cpu) - len(cpus)
    left_out = (
        f"the worst {len(cpus)} of {len(summary.per_cpu)} CPUs; the other {rest} are in the report"
    )
    return rows, left_out if cpus and rest else ""


def _shown_cpus(per_cpu: list[Figures]) -> list[Figures]:
    if len(per_cpu) == 1:
        return []  # it would repeat the row of all together
    return per_cpu if len(per_cpu) <= _ALL_SHOWN else worst_first(per_cpu)[:_WORST_SHOWN]


def _table(rows: Sequence[_Row], reasons: dict[str, str], console: Console) -> Table:
    """Return the widest table that fits: a column for each quantile, or else a row for each."""
    cells = [[_cell(row, name, reasons) for name in QUANTILES] for row in rows]

    def wide(one_line: bool, *, label_width: int | None = None) -> Table:
        table = Table(box=None, padding=(0, 1), pad_edge=False, show_edge=False)
        table.add_column("", overflow="fold", max_width=label_width)
        for name in QUANTILES:
            table.add_column(name, justify="right", no_wrap=True)
        for row, figures in zip(rows, cells, strict=True):
            table.add_row(
                Text(row.label, style=row.style),
                *(
                    figure_cell(
                        value,
                        f"[{interval}]" if one_line and interval else interval,
                        row.style,
                        one_line=one_line,
                    )
                    for value, interval in figures
                ),
            )
        return table

    if fits(wide(one_line=False, label_width=_LABEL), console):
        return widest_table(wide, console)
    table = Table(box=None, padding=(0, 1), pad_edge=False, show_edge=False, show_header=False)
    for row, figures in zip(rows, cells, strict=True):
        for name, (value, interval) in zip(QUANTILES, figures, strict=True):
            table.add_row(
                Text(row.label), name, Text(value, style=row.style), Text(interval, style="dim")
            )
    return table


def _cell(row: _Row, name: str, reasons: dict[str, str]) -> tuple[str, str]:
    """Return a figure and its interval, or a dash with the mark of its footnote.

    reasons: why figures are missing, one for each quantile. It is that of its first row, which is
    of all CPUs together; the reasons of single CPUs are on the page.
    """
    estimate = row.latency_ns.get(name)
    if estimate is None or estimate.value is None:
        reason = "not computed" if estimate is None else estimate.reason or "refused"
        mark = _footnote(reasons, reasons.setdefault(name, plain(reason, 200)))
        return f"–{mark}", ""
    interval = format_interval_ns(estimate.low, estimate.high, estimate.value)
    return estimate_text(estimate), interval if row.intervals else ""


def _footnote(reasons: Mapping[str, str], reason: str) -> str:
    different = list(dict.fromkeys(reasons.values()))
    return _FOOTNOTES[min(different.index(reason), len(_FOOTNOTES) - 1)]


def _requirement_line(requirement: Requirement) -> Table:
    text = f"{plain(requirement.text, 80)}: {plain(requirement.why, 300)}"
    return hanging(requirement.verdict, text, VERDICT_STYLES[requirement.verdict], "")
