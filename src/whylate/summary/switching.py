"""Activations that came while the recorder was being detached or attached.

To switch, the kernel rewrites its code and interrupts all CPUs. What came meanwhile was measured
and counts in every figure and verdict: it was as late as that, and switching takes longer where the
board stalls, so that to leave it out could leave out the board's own stalls. Where it makes a good
part of a tail a warning says so, and what that figure is of all other activations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from whylate.quantities import format_count, format_ns, format_percent
from whylate.recording.manifest import Manifest
from whylate.recording.samples import Activations
from whylate.stats.arrays import Bools, Int64s
from whylate.stats.run.ordered import Ordered
from whylate.stats.run.values import ValueCounter, without
from whylate.summary.model import Caution, Figures
from whylate.summary.quantiles import QUANTILES

#: A part of what lies beyond a quantile that is worth a warning, and how many that are at least.
LARGE_PART = 0.2
FEWEST = 5
REMEDY = "--no-detach keeps it attached."


def switching_cautions(
    manifest: Manifest, series: Sequence[Activations], everything: Ordered, together: Figures
) -> Iterator[Caution]:
    """Warn of the first quantile beyond which many came while the recorder was switched.

    Else of the maximum, where that did. everything: the latencies of all series.
    """
    spans_ns = _spans(manifest)
    if not spans_ns.size:
        return
    for name in ("p99", "p99.9"):
        estimate = together.latency_ns.get(name)
        if estimate is None or estimate.value is None:
            continue
        switched, beyond = _count(series, spans_ns, estimate.value)
        if switched >= FEWEST and switched >= LARGE_PART * beyond:
            text = (
                f"{format_percent(switched / beyond)} of what is later than {name} came while the "
                "recorder was being detached or attached, which may have caused it"
                f"{_of_the_others(name, series, spans_ns, everything)}. {REMEDY}"
            )
            yield Caution("switching", text)
            return
    longest = together.latency_ns.get("max")
    if longest is not None and longest.value is not None:
        switched, beyond = _count(series, spans_ns, longest.value - 1)
        if switched == beyond:
            text = (
                f"The largest latency, {format_ns(longest.value)}, came while the recorder was "
                "being detached or attached, which may have caused it"
                f"{_longest_otherwise(series, spans_ns, together)}. {REMEDY}"
            )
            yield Caution("switching", text)


def _of_the_others(
    name: str, series: Sequence[Activations], spans_ns: Int64s, everything: Ordered
) -> str:
    """Say what a quantile is of the activations that were not due while it was switched.

    The plain order statistic, overruns at their bound. Time chooses them, not latency; but it is
    biased low where stalls made switching longer, so that nothing is judged by it.
    """
    due = ValueCounter()
    for cpu in series:
        for first, end in cpu.rows_due(spans_ns).tolist():
            for latency_ns, _ in cpu.chunks(first, end):
                due.add(latency_ns)
    switched = due.values()
    others = without(everything.bound, switched)
    if not switched.n or not others.n:
        return ""
    value_ns = others.at(math.ceil(QUANTILES[name] * others.n) - 1)
    return (
        f": {name} is {format_ns(value_ns)} without the {format_count(switched.n)} activations "
        f"({format_percent(switched.n / everything.n)}) that were due then"
    )


def _longest_otherwise(series: Sequence[Activations], spans_ns: Int64s, together: Figures) -> str:
    """Say which is the largest latency that came at another time, where it is beyond p99."""
    estimate = together.latency_ns.get("p99")
    if estimate is None or estimate.value is None:
        return ""
    largest_ns = -1
    for cpu in series:
        rows, latency_ns, _ = cpu.exceeding(estimate.value)
        due_ns = cpu.due_of(rows)
        others_ns = latency_ns[~_overlaps(spans_ns, due_ns, due_ns + latency_ns)]
        largest_ns = max(largest_ns, int(others_ns.max(initial=-1)))
    return f": the largest at another time is {format_ns(largest_ns)}" if largest_ns >= 0 else ""


def _spans(manifest: Manifest) -> Int64s:
    """Return when it was switched, int64 ns, shape (switches, 2), in order."""
    stretches = manifest.recorder.detached if manifest.recorder is not None else []
    spans = [
        span
        for stretch in stretches
        for span in (
            (stretch.begin_ns, stretch.from_ns),
            (stretch.to_ns, stretch.until_ns),
        )
    ]
    return np.array(spans, np.int64).reshape(-1, 2)


def _count(series: Sequence[Activations], spans_ns: Int64s, limit_ns: int) -> tuple[int, int]:
    """Return how many activations above a limit came while it was switched, and of how many."""
    switched = beyond = 0
    for cpu in series:
        rows, latency_ns, _ = cpu.exceeding(limit_ns)
        beyond += rows.size
        due_ns = cpu.due_of(rows)
        switched += int(np.count_nonzero(_overlaps(spans_ns, due_ns, due_ns + latency_ns)))
    return switched, beyond


def _overlaps(spans_ns: Int64s, due_ns: Int64s, run_ns: Int64s) -> Bools:
    """Return whether each time from due to run overlaps a span; the spans do not overlap."""
    last = np.searchsorted(spans_ns[:, 0], run_ns) - 1
    overlaps: Bools = (last >= 0) & (due_ns < spans_ns[np.maximum(last, 0), 1])
    return overlaps
