"""cyclictest (rt-tests): its lines of a summary, its histogram, its samples (-v), its JSON.

All of its threads are taken together, as all CPUs of a run are. Its times are in microseconds, or
in nanoseconds with -N: its JSON has the unit, the width of its summary's columns shows it, and its
histogram and samples lack it. A latency is cut to a whole unit (calcdiff()), so that it may be up
to one unit more; the mean of a thread is the sum of these by the count of cycles, cut once more,
and is therefore taken from the histogram where that is whole. What is beyond the histogram's end
(-h) is counted, and only the largest of it is known.

The formats are those of cyclictest.c in rt-tests 0.5 (July 2009) to 2.10:

- until May 2011 there are no minima and averages, and the maxima are "# Max Latencys:";
- until 2.7 each row up to -h is printed and "# Total:" has the sums; since 2.8 rows in which no
  thread has any are left out and there are no sums (hset_print_bucket() in histogram.c).

A file may hold several runs, one after the other: each is read.
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
    Printed,
    cut_mean,
    histogram_run,
    missed,
    series_run,
    sum_threads,
    summary_run,
)

SIGN = (
    r"T: *\d+ *\( *\d+\) *P:|# *Histogram|# *(?:Total|M(?:ax|in) Latenc|Avg Latenc)"
    r"|^\s*\d{6,}(?:\s+\d{6,})+\s*$|^\s*\d+: *\d+: *-?\d+"
)
#: T: 0 (14950) P:80 I:1000 C:    300 Min:     16 Act:   21 Avg:   20 Max:      56
_BEGUN = re.compile(r"T:\s*\d+\s*\(\s*\d+\)\s*P:\s*\d+\s*I:")
_THREAD = re.compile(
    r"T:\s*(\d+)\s*\(\s*(\d+)\)\s*P:\s*\d+\s*I:\s*\d+\s*C:\s*(\d+)\s*Min:(\s*-?\d+)\s*"
    r"Act:(\s*-?\d+)\s*Avg:(\s*-?\d+)\s*Max:(\s*-?\d+)"
)
#: Of 2005 to 2007, with wider columns and without a mean.
_EARLIEST = re.compile(
    r"T:\s*\d+\s*\(\s*\d+\)\s*P:\s*\d+\s*I:\s*\d+\s*C:\s*\d+\s*Min:\s*-?\d+\s*"
    r"Act:\s*-?\d+\s*Max:\s*-?\d+"
)
#: value, and a count for each thread.
_BIN = re.compile(r"(\d{6,})((?:\s+\d{6,})+)")
#: So filled up with zeros no column of numbers is.
_SURE_BIN = re.compile(r"0\d{5}(?:\s+0\d{5})+")
_HEADING = re.compile(r"# Histogram")
#: Each is filled up to five digits at least: with fewer it was cut.
_NOTE = re.compile(
    r"#\s*(Total|Max Latenc(?:ie|y)s|Avg Latencies|Histogram Overflows):((?:\s+\d{5,})+)"
)
_TOTAL, _AVG, _MAX_NOTE, _OVER = "Total", "Avg Latencies", "Max Latencies", "Histogram Overflows"
#: Of rt-tests before July 2009, which drops what is beyond its end without a count.
_OLDEST = re.compile(r"#\s*Max Latency: \d+ / \d+")
#: thread: cycle: latency, and the count of SMIs where that was asked for.
_SAMPLE = re.compile(r"\s*(\d+):(\s*\d+):(\s*-?\d+)(?:\s+\d+)?\s*")
#: With -v it prints this for each thread before the first sample.
_VERBOSE = re.compile(r"Thread \d+ Interval: \d+")
#: A thread's first cycles: samples of a second run begin there.
_FIRST_CYCLE = 1
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
    """The lines of one run read so far.

    last: the cycle of the last sample of each thread. averaged: it is of May 2011 or later, and
    has the averages.
    """

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
    oldest: bool = False
    averaged: bool = True

    def takes_thread(self, number: int, thread: _Thread) -> bool:
        """Add a thread's line; False where it is of the next run."""
        before = self.threads.get(number)
        # The histogram of a run comes last, and samples have no larger one among them.
        if self.notes or (before is not None and not thread.goes_on(before)):
            return False
        if self.samples and thread.largest > max(self.samples):
            return False
        self.threads[number] = thread
        return True

    def takes_bin(self, match: re.Match[str]) -> bool:
        """Add a row of the histogram; False where it is of the next run."""
        value = int(match[1])
        if self.notes or value <= max(self.bins, default=-1):
            return False
        self.sure = self.sure or _SURE_BIN.fullmatch(match[0]) is not None
        self.bins[value] = [int(word) for word in match[2].split()]
        return True

    def takes_note(self, match: re.Match[str]) -> bool:
        """Add a line below the histogram; False where it is of the next run."""
        name = match[1].replace("Latencys", "Latencies")
        self.averaged = self.averaged and name == match[1]
        if name in self.notes:
            return False
        self.notes[name] = [int(word) for word in match[2].split()]
        return True

    def takes_sample(self, match: re.Match[str]) -> bool:
        """Add a sample; False where it is of the next run."""
        # Without blanks it may as well be a time of day and a number.
        if not self.verbose and not (_fits(match[2], _CYCLE) and _fits(match[3], _CYCLE)):
            return True
        if self.notes:
            return False
        thread, cycle = int(match[1]), int(match[2])
        before = self.last.get(thread, cycle - 1)
        if cycle <= before:
            if cycle > _FIRST_CYCLE:
                raise InputError(
                    f"{self.path} has cycle {cycle} of thread {thread} after cycle {before}: "
                    "it has pieces of several runs; keep the lines of one"
                )
            return False
        self.thinned = self.thinned or cycle > before + 1
        self.last[thread] = cycle
        self.samples.append(int(match[3]))
        return True

    def takes_other(self, line: str) -> bool:
        """Look at any other line; False where it is of the next run."""
        if _HEADING.fullmatch(line):
            if self.heading or self.bins or self.notes or self.samples:
                return False
            self.heading = True
        if _VERBOSE.fullmatch(line):
            if self.samples or self.notes:
                return False
            self.verbose = True
        self.oldest = self.oldest or _OLDEST.match(line) is not None
        return True

    def is_histogram(self) -> bool:
        """Whether it has one, or the beginning of one."""
        return self.heading or self.sure or bool(self.notes.keys() - {_TOTAL})

    def takes(self, line: str, *, wrapped: bool) -> bool:
        """Add a line; False where it is of the next run. Raises InputError."""
        bare = line.strip()
        if match := _THREAD.search(line):
            return self.takes_thread(int(match[1]), _thread(self.path, match, wrapped))
        if match := _BIN.fullmatch(bare):
            return self.takes_bin(match)
        if match := _NOTE.fullmatch(bare):
            return self.takes_note(match)
        if match := _SAMPLE.fullmatch(line):
            return self.takes_sample(match)
        return self.takes_other(bare)


def read_text(path: Path) -> list[ImportedRun]:
    """Read what cyclictest printed; empty where it is not of cyclictest. Raises InputError."""
    lines = _Lines(path)
    runs: list[ImportedRun] = []
    for line, wrapped in _unwrapped(path):
        if not lines.takes(line, wrapped=wrapped):
            runs += _runs(lines)
            # What said how samples look says so for all of a file.
            lines = _Lines(path, verbose=lines.verbose)
            lines.takes(line, wrapped=wrapped)
    return [*runs, *_runs(lines)]


def _runs(lines: _Lines) -> list[ImportedRun]:
    """Return the run of some lines, or two: a summary, and a histogram of another run."""
    if lines.is_histogram():
        largest = max(lines.notes.get(_MAX_NOTE, [0]))
        seen = [thread.largest for thread in lines.threads.values()]
        # While it runs it prints lines of the same run.
        alone = bool(seen) and max(seen) > largest
        return [*([_summary(lines)] if alone else []), _histogram(lines)]
    if lines.samples:
        return [_samples(lines)]
    return [_summary(lines)] if lines.threads else []


def _unwrapped(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield all lines, those of threads joined, and whether a mail had wrapped one."""
    held = ""
    for text in unquoted(path):
        if held and _BEGUN.search(text):
            break
        line = f"{held} {text.strip()}" if held else text
        if "T:" in line and _EARLIEST.search(line):
            raise InputError(
                f"{path} is of cyclictest before 2008, which prints no mean: give its Max as a "
                "number, one of each run"
            )
        if "T:" in line and _BEGUN.search(line) and not _THREAD.search(line):
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
        raise InputError(
            f"{lines.path} has threads in µs and threads in ns, which are of several runs of "
            f"cyclictest: split it with `csplit -z {lines.path} '/T: 0 /' '{{*}}'`"
        )
    if not scales:
        raise InputError(
            f"{lines.path} does not show its unit, µs or ns: the width of cyclictest's columns "
            "shows it, and these lost their blanks"
        )
    scale = scales.pop()
    total = sum(thread.cycles for thread in threads)
    mean = sum(thread.cycles * thread.average for thread in threads) / max(total, 1)
    largest = max(thread.largest for thread in threads)
    cut = cut_mean("cyclictest", "1 µs" if scale == _US else "1 ns")
    return summary_run("cyclictest", mean * scale, largest * scale, (ALL_BUT_TWO, cut, _MISSED),
                       average_cut_ns=scale, activations=total)  # fmt: skip


def _samples(lines: _Lines) -> ImportedRun:
    if lines.thinned:
        raise InputError(
            f"{lines.path} lacks cycles between its lines: with --oscope it has the largest of "
            "several alone, and such are no sample"
        )
    return series_run(lines.path, "cyclictest", lines.samples, _US, (_MISSED,))


def _histogram(lines: _Lines) -> ImportedRun:
    threads = _threads(lines)
    for thread in range(len(lines.notes[_OVER])):
        _check(lines, thread)
    of_value = {value: sum(counts[:threads]) for value, counts in lines.bins.items()}
    overflow = sum(lines.notes[_OVER][:threads])
    printed = Printed(_average_ns(lines, threads), max(lines.notes[_MAX_NOTE]) * _US, _US, "1 µs")
    return histogram_run(lines.path, "cyclictest", of_value, overflow, _US, printed, _MISSED)


def _threads(lines: _Lines) -> int:
    """Return how many threads a histogram is of; raises InputError where it is incomplete."""
    notes = lines.notes
    if lines.oldest:
        raise InputError(
            f"{lines.path} is of cyclictest before July 2009, which drops what is beyond the "
            "histogram's end without counting it: its tail is not known"
        )
    for name in (_MAX_NOTE, _OVER, *([_AVG] if lines.averaged else [])):
        if name not in notes:
            raise _cut(lines.path, f'its line "# {name}" is missing')
    columns = len(notes[_OVER])
    rows = list(lines.bins.values())
    if columns == 1 and rows and all(len(row) == 2 and row[0] == row[1] for row in rows):
        # Since 2.8 --histofall prints the sum of a single thread too.
        lines.bins = {value: row[:1] for value, row in lines.bins.items()}
        rows = list(lines.bins.values())
    for name in (_TOTAL, _MAX_NOTE):
        if name in notes and len(notes[name]) != columns:
            raise _cut(lines.path, f'"# {name}" has {len(notes[name])} of {columns} threads')
    if any(len(counts) != columns for counts in rows):
        raise _cut(lines.path, "a line of it has not as many threads as the others")
    if _TOTAL not in notes and not rows:
        raise _cut(lines.path, "it has no row")
    threads = columns - _has_sum(lines)
    if _AVG in notes and len(notes[_AVG]) != threads:
        raise _cut(lines.path, f"it has {columns} columns and {len(notes[_AVG])} averages")
    return threads


def _has_sum(lines: _Lines) -> bool:
    """Whether the last column is of all threads together (--histofall)."""
    notes = lines.notes
    averages = len(notes.get(_AVG, []))
    if not averages or averages == len(notes[_OVER]) or len(notes[_OVER]) <= 2:
        return False
    rows = [*lines.bins.values(), *([notes[_TOTAL]] if _TOTAL in notes else [])]
    return all(row[-1] == sum(row[:-1]) for row in rows)


def _check(lines: _Lines, thread: int) -> None:
    """Raise InputError where a thread's column contradicts what is printed below it."""
    notes = lines.notes
    within = sum(counts[thread] for counts in lines.bins.values())
    if _TOTAL in notes and within != notes[_TOTAL][thread]:
        raise _cut(
            lines.path, f"it has {within} activations and a total of {notes[_TOTAL][thread]}"
        )
    largest = notes[_MAX_NOTE][thread]
    seen = max((value for value, counts in lines.bins.items() if counts[thread]), default=0)
    overflow = notes[_OVER][thread]
    # Where rows without any are left out the last one need not be the histogram's end.
    end = max(lines.bins, default=0) if _TOTAL in notes else seen
    if largest < seen or (overflow > 0) != (largest > end):
        raise _cut(
            lines.path, f"it goes up to {seen} and {overflow} beyond it, its maximum is {largest}"
        )
    if _TOTAL in notes or overflow or thread >= len(notes[_AVG]):
        return
    # Without sums the average shows whether rows are missing: it is that of all of them.
    mean = sum(value * counts[thread] for value, counts in lines.bins.items()) // max(within, 1)
    if mean != notes[_AVG][thread]:
        raise _cut(lines.path, f"its mean is {mean}, and that of the run {notes[_AVG][thread]}")


def _cut(path: Path, why: str) -> InputError:
    return InputError(f"{path}: the histogram is incomplete: {why}")


def _average_ns(lines: _Lines, threads: int) -> float | None:
    """Return the mean of the threads' averages, each as often as it counts."""
    if _AVG not in lines.notes:
        return None
    averages = np.array(lines.notes[_AVG], float)
    within = [sum(counts[thread] for counts in lines.bins.values()) for thread in range(threads)]
    counts = np.array(within, float) + np.array(lines.notes[_OVER][:threads], float)
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
        # Of its JSON the mean has its fraction, two digits of it.
        return summary_run("cyclictest", average * scale, largest * scale, (ALL_BUT_TWO, _MISSED),
                           activations=cycles, made=made)  # fmt: skip
    if largest < max(bins):
        raise _cut(path, f"it goes up to {max(bins)} and its maximum is {largest}")
    # It does not say what its histogram dropped; the cycles do.
    overflow = max(0, cycles - sum(bins.values()))
    return histogram_run(path, "cyclictest", bins, overflow, scale,
                         Printed(average * scale, largest * scale), _MISSED, made=made)  # fmt: skip


def _began(document: dict[str, Any]) -> str:
    """Return when a run began, in UTC; "" where its JSON does not say."""
    try:
        began = parsedate_to_datetime(document["start_time"])
        return began.astimezone(UTC).isoformat(timespec="seconds") if began.tzinfo else ""
    except (KeyError, TypeError, ValueError, OverflowError):
        return ""
