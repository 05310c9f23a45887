"""jitterdebugger: results.json, with a histogram for each CPU.

Version 1 of its file has no "sysinfo", and may be of a jitterdebugger that slept for a while, and
not until a time, so that nothing came due during a stall. Version 3 writes the unit;
before it was microseconds (dump_stats() in jitterdebugger.c, 2019). A latency is cut to a whole
unit; the average of a CPU (avg) has its fraction, but is of all cycles, as count is, whereas the
histogram ends at 1,000 units unless -N or -b says otherwise: what is beyond that shows in the
counts alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whylate.recording.imported.model import (
    ImportedRun,
    Printed,
    histogram_run,
    missed,
    sum_threads,
)

_US = 1000


def read_json(path: Path, document: dict[str, Any]) -> ImportedRun | None:
    """Read its results; None where it is something else. Raises InputError."""
    cpus = document.get("cpu")
    if not isinstance(cpus, dict) or not cpus or not isinstance(document.get("version"), int):
        return None
    system = document.get("sysinfo", {})
    nanoseconds = isinstance(system, dict) and system.get("resolution_in_ns") == 1
    scale = 1 if nanoseconds else _US
    bins, counted, average, largest = sum_threads(path, "jitterdebugger", cpus.values(), "count")
    # The histogram's end is silent: what it left out shows in the counts alone.
    overflow = max(0, counted - sum(bins.values()))
    lacks = [missed("an old jitterdebugger")] if document["version"] == 1 else []
    printed = Printed(average * scale, largest * scale)
    return histogram_run(path, "jitterdebugger", bins, overflow, scale, printed, *lacks)
