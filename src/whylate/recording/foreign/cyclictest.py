"""cyclictest (rt-tests): its lines of a summary, its histogram, its samples (-v), its JSON.

All of its threads are taken together, as all CPUs of a run are. Its times are in microseconds, or
in nanoseconds with -N: its JSON says so, its summary shows it by how wide its columns are, and its
histogram and its samples show it by nothing. All formats are those of cyclictest.c in rt-tests 2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whylate.recording.foreign.lines import MOST_ACTIVATIONS, unquoted
from whylate.recording.foreign.model import (
    ALL_BUT_TWO,
    BEYOND,
    ORDER,
    ForeignError,
    ForeignRun,
    from_counts,
    missed,
)

#: T: 0 (14950) P:80 I:1000 C:    300 Min:     16 Act:   21 Avg:   20 Max:      56
_THREAD = re.compile(
    r"T:\s*(\d+)\s*\(\s*\d+\)\s*P:\s*\d+\s*I:\s*\d+\s*C:\s*(\d+)\s*Min:\s*(-?\d+)\s*"
    r"Act:(\s*-?\d+)\s*Avg:\s*(-?\d+)\s*Max:\s*(-?\d+)"
)
#: value, and a count for each thread.
_BIN = re.compile(r"(\d{6,})((?:\s+\d{6,})+)\s*")
_NOTE = re.compile(r"#\s*(Total|Max Latencies|Avg Latencies|Histogram Overflows):((?:\s+\d+)+)\s*")
#: thread: cycle: latency, and the count of SMIs where that was asked for.
_SAMPLE = re.compile(r"\s*(\d+):\s*(\d+):\s*(-?\d+)(?:\s+\d+)?\s*")
_US = 1000
#: How wide "Act:" is with -N; else it is 5 wide.
_WIDE_NS = 8
_MISSED = missed("cyclictest")


def read_text(path: Path) -> ForeignRun | None:
    """Read what cyclictest printed; None where it is not of cyclictest. Raises ForeignError."""
    threads: dict[int, tuple[int, int, int]] = {}
    bins: dict[int, list[int]] = {}
    notes: dict[str, list[int]] = {}
    samples: list[int] = []
    cycles: dict[int, tuple[int, int, int]] = {}
    for line in unquoted(path):
        if match := _THREAD.search(line):
            threads[int(match[1])] = _thread(match)
        elif match := _BIN.fullmatch(line):
            bins[int(match[1])] = [int(word) for word in match[2].split()]
        elif match := _NOTE.fullmatch(line):
            notes[match[1]] = [int(word) for word in match[2].split()]
        elif match := _SAMPLE.fullmatch(line):
            samples.append(int(match[3]))
            thread, cycle = int(match[1]), int(match[2])
            first, last, lines = cycles.get(thread, (cycle, cycle, 0))
            cycles[thread] = min(first, cycle), max(last, cycle), lines + 1
    if bins and "Total" in notes:
        return _histogram(path, bins, notes)
    if samples:
        if any(last - first >= lines for first, last, lines in cycles.values()):
            raise ForeignError(
                f"{path} lacks cycles between its lines: with --oscope it has the largest of "
                "several alone, and such are no sample"
            )
        latency_ns = np.array(samples, np.int64) * _US
        return ForeignRun("cyclictest", latency_ns, 0, True, float(latency_ns.mean()),
                          float(latency_ns.max()), 0, (_MISSED,))  # fmt: skip
    if threads:
        total = sum(count for count, _, _ in threads.values())
        mean_ns = sum(count * average for count, average, _ in threads.values()) / max(total, 1)
        largest_ns = max(one for _, _, one in threads.values())
        return ForeignRun("cyclictest", None, 0, False, mean_ns, largest_ns, 0,
                          (ALL_BUT_TWO, _MISSED))  # fmt: skip
    return None


def _thread(match: re.Match[str]) -> tuple[int, int, int]:
    """Return how many cycles a thread had, their mean and their largest latency, ns."""
    # Filled up with blanks to that width, and so no long time in microseconds.
    nanoseconds = len(match[4]) >= _WIDE_NS and match[4][0].isspace()
    scale = 1 if nanoseconds else _US
    return int(match[2]), int(match[5]) * scale, int(match[6]) * scale


def _histogram(path: Path, bins: dict[int, list[int]], notes: dict[str, list[int]]) -> ForeignRun:
    averages = notes.get("Avg Latencies")
    if averages is not None and len(notes["Total"]) == len(averages) + 1:
        # --histofall: one column more, which is of all threads together.
        bins = {value: counts[:-1] for value, counts in bins.items()}
        notes = {
            name: found[: len(averages)] if name != "Max Latencies" else found
            for name, found in notes.items()
        }
    counts = [sum(found) for found in bins.values()]
    if sum(counts) != sum(notes["Total"]):
        raise ForeignError(
            f"{path}: the histogram has {sum(counts)} activations and says "
            f"{sum(notes['Total'])}: it is not whole"
        )
    overflow = sum(notes.get("Histogram Overflows", []))
    return _counted(
        path,
        list(bins),
        counts,
        overflow,
        _average_us(notes) * _US if averages else None,
        max(notes.get("Max Latencies", []), default=None),
        _US,
    )


def _average_us(notes: dict[str, list[int]]) -> float:
    """Return the mean of the threads' averages, each as often as it counts."""
    counts = np.array(notes["Total"], float)
    beyond = notes.get("Histogram Overflows", [])
    if len(beyond) == counts.size:
        counts += beyond
    averages = notes["Avg Latencies"]
    if len(averages) != counts.size or not counts.sum():
        return float(np.mean(averages))
    return float(np.average(averages, weights=counts))


def _counted(
    path: Path,
    values: Sequence[int],
    counts: Sequence[int],
    overflow: int,
    average_ns: float | None,
    largest: int | None,
    scale: int,
) -> ForeignRun:
    """Return the run of a histogram; values and largest in units of scale ns."""
    if sum(counts) + overflow > MOST_ACTIVATIONS:
        raise ForeignError(f"{path} has more than {MOST_ACTIVATIONS:,} activations")
    lacks = (ORDER, *((BEYOND,) if overflow else ()), _MISSED)
    latency_ns = from_counts([value * scale for value in values], counts)
    return ForeignRun("cyclictest", latency_ns, overflow, False, average_ns,
                      None if largest is None else largest * scale, 0, lacks)  # fmt: skip


def read_json(path: Path, document: dict[str, Any]) -> ForeignRun | None:
    """Read cyclictest's --json; None where it is something else. Raises ForeignError."""
    threads = document.get("thread")
    if "rt_test_version:" not in document or not isinstance(threads, dict):
        return None
    bins: dict[int, int] = {}
    cycles, sums, largest = 0, 0.0, 0
    scale = 1 if document.get("resolution_in_ns") == 1 else _US
    try:
        for one in threads.values():
            for value, count in one.get("histogram", {}).items():
                bins[int(value)] = bins.get(int(value), 0) + int(count)
            cycles += int(one["cycles"])
            sums += int(one["cycles"]) * float(one["avg"])
            largest = max(largest, int(one["max"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ForeignError(f"{path} is no JSON that cyclictest writes") from None
    average_ns = sums / max(cycles, 1) * scale
    if not bins:
        return ForeignRun("cyclictest", None, 0, False, average_ns, largest * scale, 0,
                          (ALL_BUT_TWO, _MISSED))  # fmt: skip
    # It does not say what its histogram dropped; the cycles do.
    overflow = max(0, cycles - sum(bins.values()))
    return _counted(path, list(bins), list(bins.values()), overflow, average_ns, largest, scale)
