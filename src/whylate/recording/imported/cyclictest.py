"""cyclictest (rt-tests): its lines of a summary, its histogram, its samples (-v), its JSON.

All of its threads are taken together, as all CPUs of a run are. Its times are in microseconds, or
in nanoseconds with -N: its JSON has the unit, the width of its summary's columns shows it, and its
histogram and samples lack it. All formats are those of cyclictest.c in rt-tests 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import numpy as np

from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.model import (
    ALL_BUT_TWO,
    ImportedRun,
    InputError,
    histogram_run,
    missed,
    sum_threads,
)

#: T: 0 (14950) P:80 I:1000 C:    300 Min:     16 Act:   21 Avg:   20 Max:      56
_BEGUN = re.compile(r"T:\s*\d+\s*\(\s*\d+\)\s*P:\s*\d+\s*I:")
_THREAD = re.compile(
    r"T:\s*(\d+)\s*\(\s*(\d+)\)\s*P:\s*\d+\s*I:\s*\d+\s*C:\s*(\d+)\s*Min:(\s*-?\d+)\s*"
    r"Act:(\s*-?\d+)\s*Avg:(\s*-?\d+)\s*Max:(\s*-?\d+)"
)
#: value, and a count for each thread.
_BIN = re.compile(r"(\d{6,})((?:\s+\d{6,})+)\s*")
#: So filled up with zeros no column of numbers is.
_SURE_BIN = re.compile(r"0\d{5}(?:\s+0\d{5})+\s*")
_HEADING = re.compile(r"\s*# Histogram\s*")
#: Each is filled up to five digits at least: with fewer it was cut.
_NOTE = re.compile(
    r"#\s*(Total|Max Latencies|Avg Latencies|Histogram Overflows):((?:\s+\d{5,})+)\s*"
)
_NOTES = ("Total", "Avg Latencies", "Max Latencies", "Histogram Overflows")
#: thread: cycle: latency, and the count of SMIs where that was asked for.
_SAMPLE = re.compile(r"\s*(\d+):(\s*\d+):(\s*-?\d+)(?:\s+\d+)?\s*")
#: With -v it prints this for each thread before the first sample.
_VERBOSE = re.compile(r"\s*Thread \d+ Interval: \d+\s*")
_US = 1000
#: How wide columns are, at least.
_MIN, _ACT_US, _ACT_NS, _MAX, _CYCLE = 7, 5, 8, 8, 8
#: How much a message shows of a line.
_SHOWN = 40
_MISSED = missed("cyclictest")


@dataclass(frozen=True)
class _Thread:
    """The last line of a thread; times in scale ns, None: the line does not show the unit."""

    pid: int
    cycles: int
    average: int
    smallest: int
    largest: int
    scale: int | None

    def goes_on(self, before: _Thread) -> bool:
        """Whether it can be of the same run as an earlier line."""
        # Before its first cycle it has no pid yet.
        if before.cycles == 0 or self == before:
            return True
        return (
            self.pid == before.pid
            and self.cycles > before.cycles
            and self.smallest <= before.smallest
            and self.largest >= before.largest
        )


@dataclass
class _Lines:
    """The lines read so far. last: the cycle of the last sample of each thread."""

    path: Path
    threads: dict[int, _Thread] = field(default_factory=dict)
    heading: bool = False
    sure: bool = False
    bins: dict[int, list[int]] = field(default_factory=dict)
    notes: dict[str, list[int]] = field(default_factory=dict)
    verbose: bool = False
    samples: list[int] = field(default_factory=list)
    last: dict[int, int] = field(default_factory=dict)
    thinned: bool = False

    def several(self) -> InputError:
        return InputError(
            f"{self.path} has several runs of cyclictest: split it into a file for each"
        )

    def thread(self, number: int, thread: _Thread) -> None:
        before = self.threads.get(number)
        # Its histogram comes last.
        if self.notes or (before is not None and not thread.goes_on(before)):
            raise self.several()
        self.threads[number] = thread

    def bin(self, match: re.Match[str]) -> None:
        if int(match[1]) in self.bins:
            raise self.several()
        self.sure = self.sure or _SURE_BIN.fullmatch(match[0]) is not None
        self.bins[int(match[1])] = [int(word) for word in match[2].split()]

    def note(self, match: re.Match[str]) -> None:
        if match[1] in self.notes:
            raise self.several()
        self.notes[match[1]] = [int(word) for word in match[2].split()]

    def sample(self, match: re.Match[str]) -> None:
        # Without blanks it may as well be a time of day and a number.
        if not self.verbose and not (_fits(match[2], _CYCLE) and _fits(match[3], _CYCLE)):
            return
        thread, cycle = int(match[1]), int(match[2])
        before = self.last.get(thread, cycle - 1)
        if cycle <= before:
            raise self.several()
        self.thinned = self.thinned or cycle > before + 1
        self.last[thread] = cycle
        self.samples.append(int(match[3]))

    def other(self, line: str) -> None:
        if _HEADING.fullmatch(line):
            if self.heading:
                raise self.several()
            self.heading = True
        self.verbose = self.verbose or _VERBOSE.fullmatch(line) is not None

    def exceeds(self, largest: int) -> bool:
        """Whether a line or a sample has more than the largest latency of what is returned."""
        seen = [*(thread.largest for thread in self.threads.values()), *self.samples]
        return max(seen, default=largest) > largest


def read_text(path: Path) -> ImportedRun | None:
    """Read what cyclictest printed; None where it is not of cyclictest. Raises InputError."""
    lines = _Lines(path)
    for line, wrapped in _unwrapped(path):
        if match := _THREAD.search(line):
            lines.thread(int(match[1]), _thread(path, match, wrapped))
        elif match := _BIN.fullmatch(line):
            lines.bin(match)
        elif match := _NOTE.fullmatch(line):
            lines.note(match)
        elif match := _SAMPLE.fullmatch(line):
            lines.sample(match)
        else:
            lines.other(line)
    if lines.heading or lines.sure or (lines.bins and lines.notes):
        return _histogram(lines)
    if lines.samples:
        return _samples(lines)
    return _summary(lines) if lines.threads else None


def _unwrapped(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield all lines, those of threads joined, and whether a mail had wrapped one."""
    held = ""
    for text in unquoted(path):
        if held and _BEGUN.search(text):
            break
        line = f"{held} {text.strip()}" if held else text
        if _BEGUN.search(line) and not _THREAD.search(line):
            if held:
                break
            held = line
            continue
        yield line, bool(held)
        held = ""
    if held:
        raise _no_line(path, held)


def _no_line(path: Path, line: str) -> InputError:
    text = " ".join(line.split())[:_SHOWN]
    return InputError(f"{path}: {text!r} is an incomplete line of cyclictest: repair it")


def _fits(cell: str, width: int) -> bool:
    """Whether a number was printed so wide: filled up with blanks, or longer."""
    return len(cell) == width or (len(cell) > width and not cell[0].isspace())


def _thread(path: Path, match: re.Match[str], wrapped: bool) -> _Thread:
    """Return the thread of a line; raises InputError."""
    smallest, actual, average, largest = match.group(4, 5, 6, 7)
    scale = None
    if _fits(smallest, _MIN):
        us = _fits(actual, _ACT_US) and _fits(average, _ACT_US)
        ns = _fits(actual, _ACT_NS) and _fits(average, _ACT_NS)
        scale = None if us == ns else _US if us else 1
    if scale is not None and not wrapped and len(largest) < _MAX:
        raise _no_line(path, match[0])
    return _Thread(int(match[2]), int(match[3]), int(average), int(smallest), int(largest), scale)


def _summary(lines: _Lines) -> ImportedRun:
    threads = list(lines.threads.values())
    scales = {thread.scale for thread in threads if thread.scale is not None}
    if len(scales) > 1:
        raise lines.several()
    if not scales:
        raise InputError(
            f"{lines.path} does not show its unit, µs or ns: the width of cyclictest's columns "
            "shows it, and these lost their blanks"
        )
    scale = scales.pop()
    total = sum(thread.cycles for thread in threads)
    mean = sum(thread.cycles * thread.average for thread in threads) / max(total, 1)
    largest = max(thread.largest for thread in threads)
    return ImportedRun("cyclictest", None, 0, False, mean * scale, largest * scale, 0,
                      (ALL_BUT_TWO, _MISSED))  # fmt: skip


def _samples(lines: _Lines) -> ImportedRun:
    if lines.thinned:
        raise InputError(
            f"{lines.path} lacks cycles between its lines: with --oscope it has the largest of "
            "several alone, and such are no sample"
        )
    if lines.exceeds(max(lines.samples)):
        raise lines.several()
    latency_ns = np.array(lines.samples, np.int64) * _US
    return ImportedRun("cyclictest", latency_ns, 0, True, float(latency_ns.mean()),
                      float(latency_ns.max()), 0, (_MISSED,))  # fmt: skip


def _histogram(lines: _Lines) -> ImportedRun:
    bins, notes = lines.bins, lines.notes
    for name in _NOTES:
        if name not in notes:
            raise _cut(lines.path, f'its line "# {name}" is missing')
    threads = len(notes["Avg Latencies"])
    columns = len(notes["Total"])
    # --histofall: one column more, which is of all threads together.
    of_all = columns == threads + 1 > 2 and notes["Total"][-1] == sum(notes["Total"][:-1])
    if columns != threads and not of_all:
        raise _cut(lines.path, f"it has {columns} totals and {threads} averages")
    for name in ("Max Latencies", "Histogram Overflows"):
        if len(notes[name]) != columns:
            raise _cut(lines.path, f'"# {name}" has {len(notes[name])} of {columns} threads')
    if any(len(counts) != columns for counts in bins.values()):
        raise _cut(lines.path, "a line of it has not as many threads as the others")
    for thread in range(columns):
        _check(lines, thread)
    of_value = {value: sum(counts[:threads]) for value, counts in bins.items()}
    largest = max(notes["Max Latencies"])
    if lines.exceeds(largest):
        raise lines.several()
    overflow = sum(notes["Histogram Overflows"][:threads])
    return histogram_run(lines.path, "cyclictest", of_value, overflow, _US, _average_ns(notes),
                         largest * _US, _MISSED)  # fmt: skip


def _check(lines: _Lines, thread: int) -> None:
    """Raise InputError where a thread's column contradicts its totals."""
    within = sum(counts[thread] for counts in lines.bins.values())
    total = lines.notes["Total"][thread]
    if within != total:
        raise _cut(lines.path, f"it has {within} activations and a total of {total}")
    largest = lines.notes["Max Latencies"][thread]
    seen = max((value for value, counts in lines.bins.items() if counts[thread]), default=0)
    overflow = lines.notes["Histogram Overflows"][thread]
    if largest < seen or (overflow > 0) != (largest > max(lines.bins, default=0)):
        raise _cut(
            lines.path, f"it goes up to {seen} and {overflow} beyond it, its maximum is {largest}"
        )


def _cut(path: Path, why: str) -> InputError:
    return InputError(f"{path}: the histogram is incomplete: {why}")


def _average_ns(notes: dict[str, list[int]]) -> float:
    """Return the mean of the threads' averages, each as often as it counts."""
    averages = np.array(notes["Avg Latencies"], float)
    counts = np.array(notes["Total"], float) + np.array(notes["Histogram Overflows"], float)
    counts = counts[: averages.size]
    mean = np.average(averages, weights=counts) if counts.sum() else averages.mean()
    return float(mean) * _US


def read_json(path: Path, document: dict[str, Any]) -> ImportedRun | None:
    """Read cyclictest's --json; None where it is something else. Raises InputError."""
    threads = document.get("thread")
    if "rt_test_version:" not in document or not isinstance(threads, dict):
        return None
    # The other tools of rt-tests write the same.
    command = str(document.get("cmdline:", "")).split()
    tool = command[0].rpartition("/")[2] if command else ""
    if tool != "cyclictest":
        raise InputError(f"{path} is of {tool[:_SHOWN] or 'an unknown tool'!r}: of rt-tests only "
                         "cyclictest is read")  # fmt: skip
    scale = 1 if document.get("resolution_in_ns") == 1 else _US
    whole = ({"histogram": {}, **thread} for thread in threads.values())
    bins, cycles, average, largest = sum_threads(path, "cyclictest", whole, "cycles")
    made = _began(document)
    if not bins:
        return ImportedRun("cyclictest", None, 0, False, average * scale, largest * scale, 0,
                          (ALL_BUT_TWO, _MISSED), made)  # fmt: skip
    if largest < max(bins):
        raise _cut(path, f"it goes up to {max(bins)} and its maximum is {largest}")
    # It does not say what its histogram dropped; the cycles do.
    overflow = max(0, cycles - sum(bins.values()))
    return histogram_run(path, "cyclictest", bins, overflow, scale, average * scale,
                         largest * scale, _MISSED, made=made)  # fmt: skip


def _began(document: dict[str, Any]) -> str:
    """Return when a run began, in UTC; "" where its JSON does not say."""
    try:
        began = parsedate_to_datetime(document["start_time"])
        return began.astimezone(UTC).isoformat(timespec="seconds") if began.tzinfo else ""
    except (KeyError, TypeError, ValueError, OverflowError):
        return ""
