"""The figures of a clock whose reads are shared: against direct reads, and how old values were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from whylate.quantities import format_count, format_short_ns
from whylate.recording.repetitions import Repetitions
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.clock import ClockPoint
from whylate.summary.benchmarks.model import Fact, Figure, Finding, Measured, PointFigures
from whylate.summary.benchmarks.summarizer import median_of
from whylate.summary.workloads.clock_rows import throughputs

#: The key of the throughput over that of direct reads.
AGAINST_DIRECT = "times_direct"
#: A form that is slower than direct reads by more than this did not fall back.
_SLOWER = 0.9


def against_direct(
    index: int, points: Sequence[ClockPoint], repetitions: Repetitions
) -> Measured | None:
    """Return the throughput of a point over that of direct reads, round by round.

    None for direct reads themselves, without a form, and where direct reads were not measured.
    """
    point = points[index]
    direct = msgspec.structs.replace(point, remedy="direct")
    if point.remedy in (None, "direct") or direct not in points:
        return None
    shared, base = (
        throughputs(repetitions.where(repetitions.column("point") == at))
        for at in (index, points.index(direct))
    )
    rounds = min(len(shared), len(base))
    if not rounds or not (base[:rounds] > 0).all():
        return None
    return median_of(shared[:rounds] / base[:rounds])


def sharing_facts(point: ClockPoint, reports: Sequence[TurnReport]) -> dict[str, Fact]:
    """Return how old the values of a point were, and what sharing costs; {} without a form.

    Ages are known of the emulated device alone: another has no clock in common with its callers.
    """
    sharing = [report.sharing for report in reports if report.sharing is not None]
    if point.remedy is None or not sharing:
        return {}
    checks = sum(turn.checks for turn in sharing)
    return {
        "alone_ns": float(np.median([turn.direct_ps for turn in sharing])) / 1e3,
        "break_even_ns": float(np.median([turn.break_even_ps for turn in sharing])) / 1e3,
        "shared_turns": sum(turn.patience > 0 for turn in sharing),
        "turns": len(sharing),
        "ages": checks,
        "stale": sum(turn.stale for turn in sharing) if checks else None,
        "most_stale_ns": max(turn.most_stale_ns for turn in sharing) if checks else None,
    }


def sharing_texts(facts: Mapping[str, Fact]) -> dict[str, str]:
    """Return how many values were older than their call, by the heading of the column."""
    stale, ages, most_ns = (facts.get(key) for key in ("stale", "ages", "most_stale_ns"))
    if "ages" not in facts:
        return {}
    if not isinstance(stale, int) or not isinstance(ages, int) or not isinstance(most_ns, int):
        return {"stale values": "–"}
    by = f", by {format_short_ns(most_ns)} at most" if stale else ""
    return {"stale values": f"{format_count(stale)} of {format_count(ages)}{by}"}


def sharing_notes(points: Sequence[PointFigures]) -> list[str]:
    """Return where sharing begins to pay, of points whose reads were shared."""
    known = [point for point in points if point.facts.get("turns")]
    if not known:
        return []
    alone, even = (
        float(np.median([float(point.facts[key] or 0) for point in known]))
        for key in ("alone_ns", "break_even_ns")
    )
    shared, turns = (
        sum(int(point.facts[key] or 0) for point in known) for key in ("shared_turns", "turns")
    )
    notes = ["Stale values: sampled before the call began that returned them."]
    if alone:
        notes.append(
            f"Break-even: a read by one caller takes {alone:.0f} ns, and sharing pays from "
            f"{even:.0f} ns on, where it costs that caller a twentieth of a read. It was on in "
            f"{shared} of {turns} turns."
        )
    return notes


def sharing_findings(points: Sequence[PointFigures]) -> Iterator[Finding]:
    """Yield which strict reads were stale, which would be a defect, and what is surely slower."""
    for point in points:
        form = point.point.remedy if isinstance(point.point, ClockPoint) else None
        stale = point.facts.get("stale")
        backward = point.facts.get("backward_steps")
        if form == "strict" and (stale or backward):
            text = f"{point.name}: strict reads returned values older than their calls: a defect"
            yield Finding("stale-strict", text)
    for point in points:
        times = point.figures.get(AGAINST_DIRECT)
        if times is not None and times.high is not None and times.high < _SLOWER:
            text = (
                f"{point.name}: sharing is slower than direct reads here: × {times.value:.2f} "
                f"[{times.low:.2f}, {times.high:.2f}]"
            )
            yield Finding("sharing-loses", text)
    yield from _break_even(points)


def _break_even(points: Sequence[PointFigures]) -> Iterator[Finding]:
    """Yield with how many threads each form surely makes more reads than direct ones.

    "from N threads on" is of all larger numbers that were measured, of which there is at least one.
    """
    measured: dict[tuple[str, str], dict[int, Figure]] = {}
    for point in points:
        times = point.figures.get(AGAINST_DIRECT)
        if times is not None and isinstance(point.point, ClockPoint):
            key = (point.point.clock, point.point.remedy or "")
            measured.setdefault(key, {})[point.point.threads] = times
    for (clock, form), by_threads in measured.items():
        gains = {
            threads: times.value
            for threads, times in sorted(by_threads.items())
            if times.low is not None and times.low > 1
        }
        if not gains:
            continue
        fewest, most = min(gains), max(gains, key=lambda threads: gains[threads])
        larger = {threads for threads in by_threads if threads > fewest}
        if larger and larger <= gains.keys():
            when = f"from {fewest} threads on"
        else:
            numbers = " and ".join(f"{threads}" for threads in gains)
            when = f"with {numbers} threads"
        best = f", and × {gains[most]:.2f} with {most}" if most != fewest else ""
        text = f"{clock}, {form}: more reads than direct ones {when} (× {gains[fewest]:.2f}{best})"
        yield Finding("sharing-pays", text)
