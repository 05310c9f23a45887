"""jitterdebugger: results.json, with a histogram for each CPU.

Version 1 of its file has no "sysinfo", and may be of a jitterdebugger that slept for a while, and
not until a time, so that nothing came due during a stall. Version 3 writes the unit;
before it was microseconds (dump_stats() in jitterdebugger.c, 2019).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whylate.recording.imported.lines import MOST_ACTIVATIONS
from whylate.recording.imported.model import (
    BEYOND,
    ORDER,
    ImportedRun,
    InputError,
    from_counts,
    missed,
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
    bins: dict[int, int] = {}
    counted, sums, largest = 0, 0.0, 0
    try:
        for cpu in cpus.values():
            for value, count in cpu["histogram"].items():
                bins[int(value)] = bins.get(int(value), 0) + int(count)
            count = int(cpu["count"])
            counted += count
            sums += count * float(cpu["avg"])
            largest = max(largest, int(cpu["max"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{path} is not the JSON of jitterdebugger") from None
    if counted > MOST_ACTIVATIONS:
        raise InputError(f"{path} has more than {MOST_ACTIVATIONS:,} activations")
    # The histogram's end is silent: what it left out shows in the counts alone.
    overflow = max(0, counted - sum(bins.values()))
    lacks = [ORDER]
    if overflow:
        lacks.append(BEYOND)
    if document["version"] == 1:
        lacks.append(missed("an old jitterdebugger"))
    latency_ns = from_counts([value * scale for value in bins], list(bins.values()))
    return ImportedRun("jitterdebugger", latency_ns, overflow, False,
                      sums / max(counted, 1) * scale, largest * scale, 0, tuple(lacks))  # fmt: skip
