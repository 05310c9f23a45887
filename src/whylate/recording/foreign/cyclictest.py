"""cyclictest (rt-tests): its lines of a summary, its histogram, its samples (-v), its JSON.

All of its threads are taken together, as all CPUs of a run are. Its times are in microseconds, or
in nanoseconds with -N, which the text does not say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whylate.recording.foreign.lines import MOST_ACTIVATIONS, unquoted
from whylate.recording.foreign.model import ForeignError, ForeignRun, from_counts

#: T: 0 (14950) P:80 I:1000 C:    300 Min:     16 Act:   21 Avg:   20 Max:      56
_THREAD = re.compile(
    r"T:\s*(\d+)\s*\(\s*\d+\)\s*P:\s*\d+\s*I:\s*\d+\s*C:\s*(\d+)\s*Min:\s*(-?\d+)\s*"
    r"Act:\s*-?\d+\s*Avg:\s*(-?\d+)\s*Max:\s*(-?\d+)"
)
_BIN = re.compile(r"(\d{6,})((?:\s+\d{6,})+)\s*")
_NOTE = re.compile(r"#\s*(Total|Max Latencies|Avg Latencies|Histogram Overflows):((?:\s+\d+)+)\s*")
#: thread: cycle: latency
_SAMPLE = re.compile(r"\s*(\d+):\s*(\d+):\s*(-?\d+)\s*")
_US = 1000
_MISSED = "activations that were missed during a stall: cyclictest leaves them out"
_ORDER = "the order in which the latencies came"
_BEYOND = "how late the activations beyond the histogram's end were"


def read_text(path: Path) -> ForeignRun | None:
    """Read what cyclictest printed; None where it is not of cyclictest. Raises ForeignError."""
    threads: dict[int, tuple[int, int, int]] = {}
    bins: dict[int, int] = {}
    notes: dict[str, list[int]] = {}
    samples: list[int] = []
    for line in unquoted(path):
        if match := _THREAD.search(line):
            count, average, largest = int(match[2]), int(match[4]), int(match[5])
            threads[int(match[1])] = count, average, largest
        elif match := _BIN.fullmatch(line):
            bins[int(match[1])] = sum(int(word) for word in match[2].split())
        elif match := _NOTE.fullmatch(line):
            notes[match[1]] = [int(word) for word in match[2].split()]
        elif match := _SAMPLE.fullmatch(line):
            samples.append(int(match[3]))
    if bins and "Total" in notes:
        return _histogram(path, bins, notes)
    if samples:
        latency_ns = np.sort(np.array(samples, np.int64) * _US)
        return ForeignRun("cyclictest", latency_ns, 0, True, float(latency_ns.mean()),
                          float(latency_ns[-1]), 0, (_MISSED,))  # fmt: skip
    if threads:
        total = sum(count for count, _, _ in threads.values())
        mean = sum(count * average for count, average, _ in threads.values()) / max(total, 1)
        largest = max(one for _, _, one in threads.values())
        return ForeignRun("cyclictest", None, 0, False, mean * _US, largest * _US, 0,
                          ("every latency but the largest and the mean", _MISSED))  # fmt: skip
    return None


def _histogram(path: Path, bins: dict[int, int], notes: dict[str, list[int]]) -> ForeignRun:
    inside = sum(bins.values())
    if inside != sum(notes["Total"]):
        raise ForeignError(
            f"{path}: the histogram has {inside} activations and says {sum(notes['Total'])}: it is "
            "not whole"
        )
    overflow = sum(notes.get("Histogram Overflows", []))
    averages = notes.get("Avg Latencies")
    return _counted(
        path,
        list(bins),
        list(bins.values()),
        overflow,
        float(np.mean(averages)) * _US if averages else None,
        max(notes.get("Max Latencies", []), default=None),
    )


def _counted(
    path: Path,
    values_us: Sequence[int],
    counts: Sequence[int],
    overflow: int,
    average_ns: float | None,
    max_us: int | None,
) -> ForeignRun:
    if sum(counts) + overflow > MOST_ACTIVATIONS:
        raise ForeignError(f"{path} has more than {MOST_ACTIVATIONS:,} activations")
    lacks = (_ORDER, *((_BEYOND,) if overflow else ()), _MISSED)
    latency_ns = from_counts([value * _US for value in values_us], counts)
    return ForeignRun("cyclictest", latency_ns, overflow, False, average_ns,
                      None if max_us is None else max_us * _US, 0, lacks)  # fmt: skip


def read_json(path: Path, document: dict[str, Any]) -> ForeignRun | None:
    """Read cyclictest's --json; None where it is something else. Raises ForeignError."""
    threads = document.get("thread")
    if "rt_test_version:" not in document or not isinstance(threads, dict):
        return None
    bins: dict[int, int] = {}
    cycles, sums, largest = 0, 0.0, 0
    try:
        for one in threads.values():
            for value, count in one.get("histogram", {}).items():
                bins[int(value)] = bins.get(int(value), 0) + int(count)
            cycles += int(one["cycles"])
            sums += int(one["cycles"]) * float(one["avg"])
            largest = max(largest, int(one["max"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ForeignError(f"{path} is no JSON that cyclictest writes") from None
    average_ns = sums / max(cycles, 1) * _US
    if not bins:
        return ForeignRun("cyclictest", None, 0, False, average_ns, largest * _US, 0,
                          ("every latency but the largest and the mean", _MISSED))  # fmt: skip
    # It does not say what its histogram dropped; the cycles do.
    overflow = max(0, cycles - sum(bins.values()))
    return _counted(path, list(bins), list(bins.values()), overflow, average_ns, largest)


def load(path: Path) -> dict[str, Any] | None:
    """Return the object that a file holds as JSON; None where it holds none."""
    text = "\n".join(unquoted(path)).strip()
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
