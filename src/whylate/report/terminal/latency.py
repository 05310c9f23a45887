"""One screen that says how late the board was and how far to believe it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from whylate.quantities import format_interval_ns, format_rate
from whylate.recording.manifest import LoadReport
from whylate.report.sentences import (
    QUANTILES,
    STAGE_NAMES,
    account,
    events_said,
    injected_fault,
    not_seen,
    stages_said,
    thread_label,
    threads_shown,
    value,
    virtual_time,
    workload,
    worst_first,
)
from whylate.summary.model import Estimate, Figures, Requirement, StageFigures, Summary, Trust
from whylate.text import plain

#: More CPUs than this do not fit on one screen: the worst few stand for them.
_ALL_SHOWN = 4
_WORST_SHOWN = 3
#: Of a crash, the innermost calls.
_FRAMES = 8
#: Columns that a line with all quantiles needs.
_WIDE = 78
#: What of that is for a label, and for the figures of a column.
_SHORT_LABEL = 6
_COLUMN = 10
_VERDICT_STYLE = {
    "ok": "bold green",
    "pass": "bold green",
    "fail": "bold red",
    "inconclusive": "bold yellow",
    "no verdict": "bold red",
}
_FOOTNOTES = "¹²³⁴⁵⁶⁷⁸⁹"


def print_summary(
    summary: Summary, console: Console, report_path: str | None = None, why: str | None = None
) -> None:
    """Print the summary to `console`; why: why it was late, in one line.

    Whatever comes from the board is printed as plain text: it is never read as markup, and its
    control characters are shown, not sent. Nothing is said by colour alone.
    """
    _print_subject(summary, console)
    for load in summary.loads:
        console.print(load_line(load))
    for cause in summary.causes:
        console.print(Text(injected_fault(cause), style="yellow"))
    if summary.virtual_time:
        console.print(Text(virtual_time(summary)))
    console.print(Text(account(summary)), style="bold")
    console.print()
    rows, left_out = _rows(summary)
    footnotes = _Footnotes()
    for part in _layout(rows, footnotes, console.width):
        console.print(part)
    if left_out:
        console.print(Text(left_out, style="dim"))
    for footnote in footnotes.lines():
        console.print(Text(footnote, style="dim"))
    console.print(Text(plain(f"Under each figure: {summary.interval_note}", 200), style="dim"))
    for said in (*stages_said(summary.together), *events_said(summary)):
        console.print(Text(said, style="dim"))
    console.print()
    console.print(Text(not_seen(summary.exceedance)))
    for line in _said_of_it(summary, why):
        console.print(line)
    if report_path is not None:
        # A path is copied by hand or by click: it is never folded into two lines.
        console.print(Text(f"report  {plain(report_path, 1000)}"), soft_wrap=True)


def _said_of_it(summary: Summary, why: str | None) -> list[RenderableType]:
    """Return what stands below the figures: why, warnings, requirements, and the trust."""
    return [
        *([hanging("why", why, "bold")] if why is not None else []),
        *(hanging("warning", plain(one.text, 300), "yellow") for one in summary.warnings),
        *(_requirement_line(one) for one in summary.requirements),
        *trust_lines(summary.trust),
        *_crash_lines(summary),
    ]


def _crash_lines(summary: Summary) -> list[Text]:
    """Return where the board was when it crashed: the innermost calls of the first crash."""
    fatal = [crash for crash in summary.crashes if crash.fatal]
    return (
        [Text(f"  {plain(one, 120)}", style="dim") for one in fatal[0].backtrace[:_FRAMES]]
        if (fatal)
        else []
    )


def _print_subject(summary: Summary, console: Console) -> None:
    parts = [summary.board, summary.kernel or "", summary.cpu_model or ""]
    board, *rest = (plain(part, 60) for part in parts if part)
    console.print(Text.assemble((board, "bold"), *(f" · {part}" for part in rest)))
    console.print(Text(workload(summary)))
    if summary.state != "complete":
        console.print(
            Text(f"run {plain(summary.state, 40)} before its planned end", style="yellow")
        )


def load_line(load: LoadReport) -> Text:
    """Say what a load did."""
    name = f"{load.kind}:{load.count}"
    if load.command is not None:
        name += f" {load.command}"
    before = format_rate(load.before_per_s, plain(load.unit, 20))
    during = format_rate(load.during_per_s, plain(load.unit, 20))
    line = Text(f"load {plain(name, 48)}  {before} before, {during} during")
    if load.error is not None:
        line.append(f"  stopped: {plain(load.error, 120)}", style="red")
    return line


@dataclass(frozen=True)
class _Row:
    """A line of figures: of all together, of a CPU, or of a program's thread."""

    label: str
    style: str
    latency_ns: dict[str, Estimate]
    stages: dict[str, StageFigures] = field(default_factory=dict)


def _rows(summary: Summary) -> tuple[list[_Row], str]:
    """Return the lines, and what to say of those that are left out."""
    together = _Row("all", "bold", summary.together.latency_ns, summary.together.stages)
    if summary.app is not None:
        threads = [] if summary.threads == 1 else summary.per_thread[:_ALL_SHOWN]
        left_out = threads_shown(summary, len(threads)) if threads else ""
        return [
            together,
            *(_Row(thread_label(one), "", one.latency_ns) for one in threads),
        ], f"{left_out}; more are in the report" if left_out else ""
    cpus = _shown_cpus(summary.per_cpu)
    rest = len(summary.per_cpu) - len(cpus)
    left_out = (
        f"the worst {len(cpus)} of {len(summary.per_cpu)} CPUs; the other {rest} are in the report"
    )
    return [together, *(_Row(f"cpu {one.cpu}", "", one.latency_ns) for one in cpus)], (
        left_out if cpus and rest else ""
    )


def _shown_cpus(per_cpu: list[Figures]) -> list[Figures]:
    if len(per_cpu) == 1:
        return []  # it would repeat the line of all together
    return per_cpu if len(per_cpu) <= _ALL_SHOWN else worst_first(per_cpu)[:_WORST_SHOWN]


class _Footnotes:
    """Why a figure is missing: one reason for each, that of the first row which lacks it.

    The first row is that of all CPUs together; that a single one has too little as well needs no
    line of its own. The page has them all.
    """

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}

    def mark(self, name: str, reason: str) -> str:
        self._reasons.setdefault(name, reason)
        number = list(self._reasons).index(name)
        return _FOOTNOTES[min(number, len(_FOOTNOTES) - 1)]

    def lines(self) -> list[str]:
        return [f"{self.mark(name, reason)} {reason}" for name, reason in self._reasons.items()]


def _layout(rows: list[_Row], footnotes: _Footnotes, width: int) -> list[RenderableType]:
    """Return the table that fits so many columns, or tables whose columns agree."""
    if width < _WIDE:
        return [_narrow_table(rows, footnotes)]
    first, *others = rows
    longest = max(len(row.label) for row in rows)
    if width >= _WIDE - _SHORT_LABEL + longest:
        return [_wide_table(rows, footnotes)]
    # Names of threads are long: each stands above its figures.
    parts: list[RenderableType] = [_wide_table([first], footnotes, width=_COLUMN)]
    for row in others:
        below = _wide_table([replace(row, label="")], footnotes, width=_COLUMN)
        below.show_header = False
        parts += [Text(row.label, style=row.style), below]
    return parts


def _wide_table(rows: list[_Row], footnotes: _Footnotes, *, width: int | None = None) -> Table:
    """Lay out a line for each row; width: of every column of figures, else as they need."""
    table = Table(box=None, padding=(0, 1), pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True, min_width=_SHORT_LABEL - 1 if width else None)
    for name in QUANTILES:
        # A figure that is cut off would lie: one that is too wide is folded.
        table.add_column(name, justify="right", overflow="fold", min_width=10, width=width)
    for row in rows:
        cells = [row.latency_ns.get(name) for name in QUANTILES]
        table.add_row(
            Text(row.label, style=row.style),
            *(
                Text(_value_cell(name, cell, footnotes), style=row.style)
                for name, cell in zip(QUANTILES, cells, strict=True)
            ),
        )
        intervals = [_interval_cell(c) for c in cells]
        if any(intervals):
            table.add_row("", *(Text(i, style="dim") for i in intervals))
        # Their intervals are in the report: here they are beside those of the whole latency.
        for stage, figures in row.stages.items():
            found = [figures.latency_ns.get(name) for name in QUANTILES]
            table.add_row(
                STAGE_NAMES[stage],
                *(
                    _value_cell(name, cell, footnotes)
                    for name, cell in zip(QUANTILES, found, strict=True)
                ),
            )
    return table


def _narrow_table(rows: list[_Row], footnotes: _Footnotes) -> Table:
    table = Table(box=None, padding=(0, 1), pad_edge=False, show_edge=False, show_header=False)
    for row in rows:
        for name in QUANTILES:
            cell = row.latency_ns.get(name)
            figure = Text(_value_cell(name, cell, footnotes), style=row.style)
            table.add_row(Text(row.label), name, figure, Text(_interval_cell(cell), style="dim"))
        for stage, figures in row.stages.items():
            for name in QUANTILES:
                cell = figures.latency_ns.get(name)
                interval = Text(_interval_cell(cell), style="dim")
                table.add_row(
                    STAGE_NAMES[stage], name, _value_cell(name, cell, footnotes), interval
                )
    return table


def _value_cell(name: str, estimate: Estimate | None, footnotes: _Footnotes) -> str:
    if estimate is None or estimate.value is None:
        reason = "not computed" if estimate is None else estimate.reason or "refused"
        return f"–{footnotes.mark(name, plain(reason, 200))}"
    return value(estimate)


def _interval_cell(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return ""
    return format_interval_ns(estimate.low, estimate.high, estimate.value)


def _requirement_line(requirement: Requirement) -> Table:
    text = f"{plain(requirement.text, 80)}: {plain(requirement.why, 300)}"
    return hanging(requirement.verdict, text, _VERDICT_STYLE[requirement.verdict], "")


def trust_lines(trust: Trust) -> list[Table | Padding]:
    """Say whether the run may be judged, and why not."""
    style = _VERDICT_STYLE[trust.verdict]
    if trust.verdict == "ok":
        return [hanging("trust", "ok", style, style)]
    reasons = [plain(reason, 300) for reason in trust.reasons] or ["no reason was given"]
    return [
        hanging("trust", "no verdict", style, style),
        *(Padding(Text(f"– {reason}"), (0, 0, 0, 7)) for reason in reasons),
    ]


def hanging(label: str, text: str, label_style: str, text_style: str | None = None) -> Table:
    """Lay out a label and a text whose later lines stay clear of the label."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    style = label_style if text_style is None else text_style
    grid.add_row(Text(label, style=label_style), Text(text, style=style))
    return grid
