"""jitterdebugger: results.json, with a histogram for each CPU, and the lines of -v.

Of -v the last line of each thread counts; its mean has two decimals, all in microseconds.

Version 1 of its file has no "sysinfo", and may be of a jitterdebugger that slept for a while, and
not until a time, so that nothing came due during a stall. Version 3 writes the unit;
before it was microseconds (dump_stats() in jitterdebugger.c, 2019). A latency is cut to a whole
unit; the average of a CPU (avg) has its fraction, but is of all cycles, as count is, whereas the
histogram ends at 1,000 units unless -N or -b says otherwise: what is beyond that shows in the
counts alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.model import (
    ALL_BUT_TWO,
    ImportedRun,
    Printed,
    histogram_run,
    missed,
    sum_threads,
    summary_run,
)

#: T: 0 ( 1599) A: 0 C:    593447 Min:         2 Avg:    2.97 Max:        59
SIGN = r"T: *\d+ *\( *\d+\) *A: *\d+ *C:"
_THREAD = re.compile(
    r"T:\s*(\d{1,5})\s*\(\s*(\d{1,10})\)\s*A:\s*\d{1,5}\s*C:\s*(\d{1,18})\s*Min:\s*\d{1,18}\s*"
    r"Avg:\s*(\d{1,15}\.\d{1,6})\s*Max:\s*(\d{1,18})"
)

_US = 1000


def read_text(path: Path) -> list[ImportedRun]:
    """Read its lines, a run each time that its threads begin anew."""
    runs: list[dict[int, tuple[int, int, float, int]]] = []
    for text in unquoted(path):
        for match in _THREAD.finditer(text):
            number, pid, count = int(match[1]), int(match[2]), int(match[3])
            before = runs[-1].get(number) if runs else None
            again = before is not None and (before[0] != pid or before[1] > count)
            if not runs or again:
                runs.append({})
            runs[-1][number] = pid, count, float(match[4]), int(match[5])
    return [_summary(list(threads.values())) for threads in runs]


def _summary(threads: list[tuple[int, int, float, int]]) -> ImportedRun:
    counted = sum(count for _, count, _, _ in threads)
    mean = sum(count * average for _, count, average, _ in threads) / max(counted, 1)
    largest = max(largest for _, _, _, largest in threads)
    return summary_run("jitterdebugger", mean * _US, largest * _US, (ALL_BUT_TWO,),
                       activations=counted)  # fmt: skip


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
