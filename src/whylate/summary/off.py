"""Stretches with interrupts or preemption disabled: how long, when, and who ended them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from whylate.quantities import format_count, format_percent, format_short_ns
from whylate.recording.off import (
    SHOWN,
    Method,
    OffBin,
    OffCpu,
    OffGroup,
    OffReport,
    OffStretch,
    count_durations,
)
from whylate.recording.repetitions import Repetitions
from whylate.recording.sections import MOST_PATH_CALLERS
from whylate.recording.waits import bin_edges
from whylate.stats.sampled_share import SampledShare, estimate_share
from whylate.summary.model import Caution

#: A function's name ends with where in it: "+0x12", and its module.
_OFFSET = "+0x"
#: Of a CPU that sampling takes without a warning.
MOST_SHARE = 0.15
#: Of all stretches, where there are tracepoints; each takes as many stretches beyond it.
QUANTILES, _FEWEST_BEYOND = (0.5, 0.9, 0.99, 0.999, 0.9999), 10


class OffLine(msgspec.Struct, frozen=True):
    """Stretches that one function ended, and began, with the same callers.

    share: of all points at which it was disabled. total_ns: points of the grid times the period.
    began: known with tracepoints alone. lasting: stretches that were seen for a period or more;
    longest_ns: the least that the longest of all took.
    """

    why: str
    callers: list[str]
    points: int
    share: float
    total_ns: int
    lasting: int
    longest_ns: int
    began: list[str] = []


class OffMark(msgspec.Struct, frozen=True):
    """A high-water mark: it lasted at least low_ns and less than high_ns.

    counts: by the names of the counters, in the last counted_ns; none where they are not known.
    """

    at_ns: int
    cpu: int
    pid: int
    comm: str
    low_ns: int
    high_ns: int
    why: str
    callers: list[str]
    began: list[str] = []
    counted_ns: int = 0
    counts: dict[str, int] = {}


class OffQuantile(msgspec.Struct, frozen=True):
    """A quantile of how long all stretches took: it lies between low_ns and high_ns."""

    quantile: float
    low_ns: int
    high_ns: int


class OffFigures(msgspec.Struct, frozen=True):
    """What samples, or tracepoints, showed. sampled_ns: how long, each CPU.

    method: how that is known; why: nothing better was used. With tracepoints: stretches, all of
    them; quantiles; stretch_ns: what a stretch takes longer by them. per_second_ns: disabled in a
    second of a CPU; low_ns, high_ns: its 95 % interval. not_known: samples that were late for
    another reason.
    """

    what: str
    period_ns: int
    sampled_ns: int
    per_second_ns: float
    low_ns: float
    high_ns: float
    lasting: int
    bins: list[OffBin]
    lines: list[OffLine]
    longest: list[OffMark]
    not_known: dict[str, int]
    share_of_cpu: float | None
    cpus: list[OffCpu]
    method: Method = "sampled"
    why: str = ""
    stretches: int | None = None
    stretch_ns: float | None = None
    quantiles: list[OffQuantile] = []
    counters: list[str] = []
    notes: list[str] = []
    warnings: list[Caution] = []


def join_reports(reports: Sequence[OffReport]) -> OffReport:
    """Return the reports of several turns as one; groups of the same callers are joined."""
    cpus = [cpu for report in reports for cpu in report.cpus]
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], OffGroup] = {}
    longest: list[OffStretch] = []
    for report in reports:
        numbers = {}
        for group in report.groups:
            key = (group.why, tuple(group.callers), tuple(group.began))
            known = groups.get(key)
            groups[key] = _joined(known, group) if known else _numbered(group, len(groups))
            numbers[group.group] = groups[key].group
        longest += [
            msgspec.structs.replace(stretch, group=numbers[stretch.group])
            for stretch in report.longest
        ]
    longest.sort(key=lambda stretch: -stretch.seen_ns)
    counts: dict[tuple[int, int], int] = defaultdict(int)
    for report in reports:
        for bin_ in report.bins:
            counts[bin_.low_ns, bin_.high_ns] += bin_.count
    bins = [OffBin(*edges, count) for edges, count in sorted(counts.items())]
    return OffReport(
        method=reports[0].method if reports else "sampled",
        why=reports[0].why if reports else "",
        cpus=cpus,
        groups=list(groups.values()),
        longest=longest,
        bins=bins,
        durations=[cpu for report in reports for cpu in report.durations],
    )


def _numbered(group: OffGroup, number: int) -> OffGroup:
    return msgspec.structs.replace(group, group=number)


def _joined(first: OffGroup, second: OffGroup) -> OffGroup:
    return msgspec.structs.replace(
        first,
        stretches=first.stretches + second.stretches,
        lasting=first.lasting + second.lasting,
        points=first.points + second.points,
        seen_ns=first.seen_ns + second.seen_ns,
        longest_ns=max(first.longest_ns, second.longest_ns),
    )


def is_disabled(group: OffGroup) -> bool:
    """Whether samples of a group show that it was disabled; the others came late alone."""
    return group.why in SHOWN


def count_lasting(report: OffReport) -> int:
    """Return how many stretches were seen for a period or more."""
    return sum(group.lasting for group in report.groups if is_disabled(group))


def is_exact(report: OffReport) -> bool:
    """Whether every stretch was seen, by tracepoints."""
    return report.method == "tracepoints"


def stretch_cost_ns(report: OffReport) -> float | None:
    """Return what a stretch takes longer by the hooks at both tracepoints; None: not measured."""
    costs = [(cpu.with_ns - cpu.without_ns) / cpu.work for cpu in report.cpus if cpu.work]
    return max(0.0, float(np.median(costs))) if costs else None


def looking_cost(report: OffReport, looked_ns: int) -> float | None:
    """Return the share of a CPU that looking takes; None where it was not measured.

    looked_ns: for how long, all CPUs together.
    """
    if is_exact(report):
        cost_ns = stretch_cost_ns(report)
        stretches = sum(cpu.samples for cpu in report.cpus)
        return None if cost_ns is None else stretches * cost_ns / looked_ns
    measured = [cpu for cpu in report.cpus if cpu.without_ns and cpu.with_ns]
    if not measured:
        return None
    shares = [max(0.0, 1 - cpu.without_ns / cpu.with_ns) for cpu in measured]
    return float(np.median(shares))


def share_of_points(held: NDArray[np.int64], rows: Repetitions) -> SampledShare:
    """Return the share of time of a CPU; held: of the points in each row, shape (n,)."""
    turn, repetition = rows.column("turn"), rows.column("repetition")
    _, block = np.unique(turn * (1 << 20) + repetition, return_inverse=True)
    return estimate_share(
        np.bincount(block, held).astype(np.int64),
        np.bincount(block, rows.column("points")).astype(np.int64),
    )


def function_of(caller: str) -> str:
    """Return the function of a caller, without where in it; with its module."""
    name, _, rest = caller.partition(_OFFSET)
    _, space, module = rest.partition(" ")
    return name + space + module


def summarize_off(
    what: str,
    period_ns: int,
    report: OffReport,
    rows: Repetitions,
    counters: Sequence[str] = (),
) -> OffFigures:
    """Return what was seen; report: that of all turns, joined; counters: their names."""
    held = rows.column("disabled") + rows.column("handler")
    share = share_of_points(held, rows)
    looked_ns, exact = int(rows.column("ns").sum()), is_exact(report)
    point_ns = 1 if exact else period_ns
    not_known = {name: int(rows.column(name).sum()) for name in ("user", "unknown")}
    figures = OffFigures(
        what=what,
        period_ns=period_ns,
        sampled_ns=looked_ns // len(np.unique(rows.column("cpu"))),
        per_second_ns=1e9 * share.share,
        low_ns=1e9 * share.low,
        high_ns=1e9 * share.high,
        lasting=count_lasting(report),
        bins=report.bins,
        lines=_lines(report, point_ns),
        longest=_marks(what, report, period_ns, counters),
        counters=list(counters),
        not_known={f"points_{name}": count for name, count in not_known.items()},
        share_of_cpu=looking_cost(report, looked_ns),
        cpus=report.cpus,
        method=report.method,
        why=report.why,
        stretches=sum(cpu.samples for cpu in report.cpus) if exact else None,
        stretch_ns=stretch_cost_ns(report) if exact else None,
        quantiles=_quantiles(report),
    )
    return msgspec.structs.replace(figures, notes=_notes(figures), warnings=_warnings(figures))


def _quantiles(report: OffReport) -> list[OffQuantile]:
    """Return the quantiles that enough stretches lie beyond, by the bins that they are in."""
    counts = count_durations(report.durations)
    total, edges = sum(counts.values()), [bin_edges(number) for number in counts]
    below = np.cumsum(list(counts.values()))
    quantiles = []
    for quantile in QUANTILES:
        if (1 - quantile) * total < _FEWEST_BEYOND:
            break
        low_ns, high_ns = edges[int(np.searchsorted(below, quantile * total))]
        quantiles.append(OffQuantile(quantile, low_ns, high_ns))
    return quantiles


def _lines(report: OffReport, point_ns: int) -> list[OffLine]:
    """Return the callers of stretches, those of most points first; by function, wherever in it.

    point_ns: what a point stands for.
    """
    groups = [group for group in report.groups if is_disabled(group) and group.points]
    total = sum(group.points for group in groups)
    lines = [
        OffLine(
            why=group.why,
            callers=[function_of(caller) for caller in group.callers],
            points=group.points,
            share=group.points / total,
            total_ns=group.points * point_ns,
            lasting=group.lasting,
            longest_ns=group.longest_ns,
            began=[function_of(caller) for caller in group.began],
        )
        for group in groups
    ]
    return join_lines(lines, MOST_PATH_CALLERS)


def join_lines(lines: Sequence[OffLine], callers: int) -> list[OffLine]:
    """Return lines with the same innermost callers as one, those of most points first."""
    same_path: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[OffLine]] = defaultdict(list)
    for line in lines:
        key = (line.why, tuple(line.callers[:callers]), tuple(line.began[:callers]))
        same_path[key].append(line)
    joined = [
        OffLine(
            why=why,
            callers=list(path),
            began=list(began),
            points=sum(line.points for line in same),
            share=sum(line.share for line in same),
            total_ns=sum(line.total_ns for line in same),
            lasting=sum(line.lasting for line in same),
            longest_ns=max(line.longest_ns for line in same),
        )
        for (why, path, began), same in same_path.items()
    ]
    return sorted(joined, key=lambda line: (-line.points, line.callers, line.began))


def most_unseen_ns(what: str, report: OffReport, period_ns: int) -> int:
    """Return how much longer a stretch can have been than it was seen.

    A sample that is due while interrupts are disabled comes as they are enabled: only the beginning
    was not seen, for up to a period. Preemption was disabled at the first and the last point, and
    for up to a period at both ends. What tracepoints saw was that long.
    """
    if is_exact(report):
        return 0
    return period_ns if what == "irqs-off" else 2 * period_ns


def _marks(what: str, report: OffReport, period_ns: int, counters: Sequence[str]) -> list[OffMark]:
    """Return the longest."""
    more_ns = most_unseen_ns(what, report, period_ns)
    return [
        OffMark(
            at_ns=stretch.at_ns,
            cpu=stretch.cpu,
            pid=stretch.pid,
            comm=stretch.comm,
            low_ns=stretch.seen_ns,
            high_ns=stretch.seen_ns + more_ns,
            why=report.groups[stretch.group].why,
            callers=[function_of(name) for name in report.groups[stretch.group].callers],
            began=[function_of(name) for name in report.groups[stretch.group].began],
            counted_ns=stretch.counted_ns,
            counts=dict(zip(counters, stretch.counts, strict=False)),
        )
        for stretch in report.longest
    ]


def _notes(figures: OffFigures) -> list[str]:
    period = format_short_ns(figures.period_ns)
    if figures.method == "tracepoints":
        idle = " The idle thread's own time is left out." if figures.what == "preempt-off" else ""
        note = (
            "Every stretch between the kernel's own tracepoints on a CPU is counted, with what the "
            f"hooks there take; those of {period} and more have a row each.{idle}"
        )
        return [note, *_counter_notes(figures)]
    unseen = (
        f"Shorter ones than {period} are seen as often as a sample is due in them, so that no "
        "percentile is given. The idle thread is not sampled."
    )
    if figures.what == "irqs-off":
        how = (
            "A sample that is due while interrupts are disabled comes as they are enabled: it "
            "counts where the instruction before it enables them. Together: samples that were due "
            f"then, times {period}."
        )
        lasting = (
            f"Stretches of {period} and more are all seen, for up to {period} less than they last. "
        )
        return [how, lasting + unseen, *_counter_notes(figures), _other_points(figures)]
    how = (
        "Samples of the kernel's own count of what disables preemption. Those in turn of one "
        f"thread are one stretch: it may have been several, with gaps of less than {period}."
    )
    return [how, unseen, *_counter_notes(figures), _other_points(figures)]


def _counter_notes(figures: OffFigures) -> list[str]:
    """Say what the counts of the longest are of."""
    if not figures.counters:
        return []
    if not any(mark.counts for mark in figures.longest):
        return ["No counts: another user had the CPU's counters for a part of the time."]
    if figures.method == "tracepoints":
        return ["Counters are read at both ends of a stretch."]
    if figures.what == "preempt-off":
        return ["Counters are read at each sample: they counted from the first to the last."]
    ends = (
        "Counters are read where a stretch ends. Where it began is not seen: they counted from the "
        "last timer of any kind that came in time (counted)."
    )
    return [ends]


def _other_points(figures: OffFigures) -> str:
    counts = figures.not_known
    return (
        "Samples late for another reason, counted nowhere: "
        f"{format_count(counts['points_user'])} in programs, "
        f"{format_count(counts['points_unknown'])} in the kernel. "
        "Handlers of interrupts, the host of a virtual board and firmware make samples late, too."
    )


def _warnings(figures: OffFigures) -> list[Caution]:
    warnings = []
    if lost := sum(cpu.lost for cpu in figures.cpus):
        text = f"{format_count(lost)} samples were lost: they are in no figure"
        if figures.method == "tracepoints":
            text = (
                f"{format_count(lost)} longer stretches have no row: they are in the sums and "
                "counts, and not among the longest"
            )
        warnings.append(Caution("lost-samples", text))
    if figures.share_of_cpu is not None and figures.share_of_cpu > MOST_SHARE:
        how = (
            ("the hooks at the tracepoints take", ", and slow all else down: use --hook samples")
            if figures.method == "tracepoints"
            else (
                "sampling takes",
                ", itself with interrupts disabled, and slows all else down: use a longer --every",
            )
        )
        text = f"{how[0]} {format_percent(figures.share_of_cpu)} of a CPU{how[1]}"
        warnings.append(Caution("sampling-cost", text))
    return warnings


def cost_text(figures: OffFigures) -> str:
    """Say what sampling takes of a CPU."""
    if figures.share_of_cpu is None:
        return "what that takes was not measured"
    if figures.stretch_ns is not None:
        return (
            f"the hooks take {format_percent(figures.share_of_cpu, 1)} of a CPU, "
            f"{format_short_ns(round(figures.stretch_ns))} a stretch"
        )
    sample_ns = figures.share_of_cpu * figures.period_ns
    return (
        f"sampling takes {format_percent(figures.share_of_cpu, 1)} of a CPU, "
        f"{format_short_ns(round(sample_ns))} a sample"
    )
