"""jitterdebugger: results.json, with a histogram for each CPU in microseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whylate.recording.foreign.lines import MOST_ACTIVATIONS
from whylate.recording.foreign.model import ForeignError, ForeignRun, from_counts

_US = 1000


def read_json(path: Path, document: dict[str, Any]) -> ForeignRun | None:
    """Read its results; None where it is something else. Raises ForeignError."""
    cpus = document.get("cpu")
    if not isinstance(cpus, dict) or "sysinfo" not in document:
        return None
    bins: dict[int, int] = {}
    counted, sums, largest = 0, 0.0, 0
    try:
        for one in cpus.values():
            for value, count in one["histogram"].items():
                bins[int(value)] = bins.get(int(value), 0) + int(count)
            count = int(one["count"])
            counted += count
            sums += count * float(one["avg"])
            largest = max(largest, int(one["max"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ForeignError(f"{path} is no JSON that jitterdebugger writes") from None
    if counted > MOST_ACTIVATIONS:
        raise ForeignError(f"{path} has more than {MOST_ACTIVATIONS:,} activations")
    # The histogram's end is silent: what it left out shows in the counts alone.
    overflow = max(0, counted - sum(bins.values()))
    lacks = ["the order in which the latencies came"]
    if overflow:
        lacks.append("how late the activations beyond the histogram's end were")
    latency_ns = from_counts([value * _US for value in bins], list(bins.values()))
    return ForeignRun("jitterdebugger", latency_ns, overflow, False,
                      sums / max(counted, 1) * _US, largest * _US, 0, tuple(lacks))  # fmt: skip
