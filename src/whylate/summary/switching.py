"""Activations that came while the recorder was being detached or attached.

To switch, the kernel rewrites its code and interrupts all CPUs. What came meanwhile was measured
and counts, and is said where it makes a good part of a tail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from whylate.quantities import format_ns, format_percent
from whylate.recording.manifest import Manifest
from whylate.recording.samples import Activations
from whylate.stats.arrays import Bools, Int64s
from whylate.summary.model import Caution, Figures

#: A part of what lies beyond a quantile that is worth a warning, and how many that are at least.
LARGE_PART = 0.2
FEWEST = 5


def switching_cautions(
    manifest: Manifest, series: Sequence[Activations], together: Figures
) -> Iterator[Caution]:
    """Warn of the first quantile beyond which many came while the recorder was switched.

    Else of the maximum, where that did.
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
                "recorder was being detached or attached, which may have caused it: --no-detach "
                "keeps it attached."
            )
            yield Caution("switching", text)
            return
    longest = together.latency_ns.get("max")
    if longest is not None and longest.value is not None:
        switched, beyond = _count(series, spans_ns, longest.value - 1)
        if switched == beyond:
            text = (
                f"The largest latency, {format_ns(longest.value)}, came while the recorder was "
                "being detached or attached, which may have caused it: --no-detach keeps it "
                "attached."
            )
            yield Caution("switching", text)


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
