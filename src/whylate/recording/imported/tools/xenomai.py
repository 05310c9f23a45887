"""Xenomai's `latency`: its RTD and RTS lines, in microseconds, its histogram; also out of a mail.

RTT|time since the start              now and then, with the headings
RTD|min|avg|max|overrun|msw|best|worst   each second; best and worst: so far
HSD|avg| from - to |samples             at the end, with -h: a histogram of all samples
HSS|avg|samples|average|deviation       with -s: their number; both beside those of the seconds'
                                        minima (min) and maxima (max)
RTS|min|avg|max|overrun|msw|runtime      at the end; a mail may have wrapped the run time

Before Xenomai 2.5 there was no msw. The average of RTS is that of the seconds' averages, each of
all samples of a second. A sample is counted in the histogram by its absolute value, cut to a bucket
of 1 µs (-B chooses another, which nothing shows), and its last bucket (the 100th unless -H says
otherwise) has all that is beyond; the average of HSS is that of the buckets' beginnings. Somebody
may have typed an RTS line as RTD: with a run time behind it, it is taken for what it is, and
reported. The formats are those of testsuite/latency/latency.c of Xenomai 2.0 to 3.2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.model import (
    ALL_BUT_TWO,
    ImportedRun,
    InputError,
    Printed,
    histogram_run,
    summary_run,
)

SIGN = r"RT[DSTH]\||HS[SDH]\|"
_US = 1000.0
#: Always with three decimals: a line that lacks one was cut.
_NUMBER = r"\s*(-?\d+\.\d{3})"
_COUNT = r"\s*(\d+)\s*\|"
_FIRST = rf"\|{_NUMBER}\s*\|{_NUMBER}\s*\|{_NUMBER}\s*\|{_COUNT}"
_SECOND = re.compile(rf"RTD{_FIRST}(?:{_COUNT})?{_NUMBER}\s*\|{_NUMBER}(?!\S)")
_SUM = re.compile(rf"RTS{_FIRST}(?:{_COUNT}|\s*\d+:\d\d:\d\d/)")
_MISTYPED = re.compile(rf"RTD{_FIRST}(?:{_COUNT})?\s*\d{{1,4}}:\d\d:\d\d/\d{{1,4}}:\d\d:\d\d")
_BUCKET = re.compile(r"HSD\|\s*avg\s*\|\s*(\d{1,6})\s*-\s*(\d{1,6})\s*\|\s*(\d{1,18})\s*$")
_SAMPLES = re.compile(r"HSS\|\s*avg\s*\|\s*(\d{1,18})\s*\|\s*(\d{1,9}\.\d{3})\s*\|")
_CLOCK = re.compile(r"RTT\|\s*(\d{1,9}):(\d\d):(\d\d)\s+\(")
_WHOLE = (_SECOND, _SUM, _MISTYPED)
#: What `switchtest` counts, which runs beside `latency` in xeno-test.
_SWITCHES = re.compile(r"RTD\|\s*\d+\|\s*\d+\|\s*\d+")
_RTAI = re.compile(r"RT[DS]\|\s*-?\d+\s*\|")
_OURS = re.compile(r"RT[DS]\|")
#: What does not go on with a line that a mail wrapped.
_NO_REST = re.compile(r"RT[A-Z]\||---|$")
#: No line is longer, in however many pieces.
_MOST_LINE = 200
#: How much a message shows of a line.
_SHOWN = 40
TOOL = "Xenomai latency"
_TYPED = "its end as printed: line {} is headed RTD, has the run time of RTS, and is read as RTS"
_BUCKETS = (
    "where in its bucket a latency was: its end is used, if buckets are 1 µs wide (-B), and early "
    "ones count as late"
)
_NO_LARGEST = "every latency: of its lines those of -s alone are there"
_CUT_BUCKETS = "up to 1 µs of the mean: latencies are cut to a bucket, of 1 µs if without -B"
_NO_END = "how the run ended, which is in its RTS line"


@dataclass(frozen=True)
class _Line:
    """An RTD or an RTS line, times in µs; worst: the largest since the start."""

    average: float
    largest: float
    overruns: int
    switches: int
    worst: float

    def goes_on(self, before: _Line) -> bool:
        """Whether it can be of the same run as an earlier one: what is counted never falls."""
        return self.overruns >= before.overruns and self.worst >= before.worst


@dataclass
class _Statistics:
    """What stands before the end of a run with -h or -s: buckets by their beginning, in µs."""

    bins: dict[int, int] = field(default_factory=dict)
    samples: int | None = None
    average: float = 0.0


@dataclass
class _Reader:
    """The runs so far, and the lines of the one that has not ended."""

    path: Path
    runs: list[ImportedRun] = field(default_factory=list)
    seconds: list[_Line] = field(default_factory=list)
    clock: int = 0
    statistics: _Statistics = field(default_factory=_Statistics)

    def add_line(self, number: int, text: str) -> None:
        """Add a whole line, which begins at a number; raises InputError."""
        if match := _CLOCK.match(text):
            before = self.clock
            self.clock = int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3])
            if self.seconds and self.clock <= max(before, 1):
                self.break_off()
        elif match := _BUCKET.match(text):
            self.statistics.bins[int(match[1])] = int(match[3])
        elif match := _SAMPLES.match(text):
            self.statistics.samples = int(match[1])
            self.statistics.average = float(match[2])
        elif match := _MISTYPED.match(text) or _SECOND.match(text) or _SUM.match(text):
            line = _line(match)
            if self.seconds and not line.goes_on(self.seconds[-1]):
                self.break_off()
            if match.re is _SECOND:
                self.seconds.append(line)
            else:
                self.end(line, (_TYPED.format(number),) if match.re is _MISTYPED else ())

    def break_off(self) -> None:
        """End a run of which some seconds are known, and the worst up to the last of them."""
        average = sum(line.average for line in self.seconds) / len(self.seconds)
        worst = max(line.worst for line in self.seconds)
        self._add(_run(self.seconds[-1], average, worst, self.statistics, (_NO_END,)))

    def end(self, line: _Line, more: tuple[str, ...]) -> None:
        """End a run with its last line; raises InputError."""
        if self.statistics.bins:
            self._add(_histogram(self.path, line, self.statistics, more))
        else:
            self._add(_run(line, line.average, line.worst, self.statistics, more))

    def finish(self) -> list[ImportedRun]:
        """Return all runs; nothing more comes."""
        if self.seconds:
            self.break_off()
        elif self.statistics.samples is not None:
            self._add(_of_statistics(self.statistics))
        return self.runs

    def _add(self, run: ImportedRun) -> None:
        self.runs.append(run)
        self.seconds, self.clock, self.statistics = [], 0, _Statistics()


def read_text(path: Path) -> list[ImportedRun]:
    """Read all runs of a file, none where it is not of Xenomai; raises InputError.

    A run ends with its RTS line; RTD lines without one are a run that was broken off.
    """
    reader = _Reader(path)
    for number, text in _unwrapped(path):
        reader.add_line(number, text)
    return reader.finish()


def _unwrapped(path: Path) -> Iterator[tuple[int, str]]:
    """Yield all lines with their numbers, those that a mail wrapped in one piece."""
    held, began = "", 0
    for number, text in enumerate(unquoted(path), 1):
        line = text.strip()
        if held and not _NO_REST.match(line):
            line = f"{held} {line}"
        elif held:
            raise _cut(path, held)
        else:
            began = number
        held = ""
        if not _OURS.match(line) or any(whole.match(line) for whole in _WHOLE):
            yield began, line
        elif _RTAI.match(line):
            if not _SWITCHES.fullmatch(line):
                raise InputError(f"{path}: {line[:_SHOWN]!r} is RTAI's, which is not read: only "
                                 "Xenomai's times, in µs with three decimals, are")  # fmt: skip
        elif len(line) > _MOST_LINE:
            raise _cut(path, line)
        else:
            held = line
    if held:
        raise _cut(path, held)


def _cut(path: Path, line: str) -> InputError:
    text = " ".join(line.split())[:_SHOWN]
    return InputError(f"{path}: {text!r} is an incomplete line of Xenomai's latency: repair it")


def _line(match: re.Match[str]) -> _Line:
    average, largest = float(match[2]), float(match[3])
    worst = float(match[7]) if match.re is _SECOND else largest
    return _Line(average, largest, int(match[4]), int(match[5] or 0), max(largest, worst))


def _run(
    last: _Line,
    average_us: float,
    largest_us: float,
    statistics: _Statistics,
    more: tuple[str, ...],
) -> ImportedRun:
    return summary_run(
        TOOL, average_us * _US, largest_us * _US, (ALL_BUT_TWO, *more, *_not_counted(last)),
        overruns=last.overruns, activations=statistics.samples,
    )  # fmt: skip


def _not_counted(last: _Line) -> list[str]:
    lacks = []
    if last.overruns:
        lacks.append(f"the latencies of {last.overruns} overruns")
    if last.switches:
        lacks.append(f"what {last.switches} mode switches to Linux cost")
    return lacks


def _histogram(
    path: Path, last: _Line, statistics: _Statistics, more: tuple[str, ...]
) -> ImportedRun:
    """Return the run of a histogram: each sample at the end of its bucket of 1 µs."""
    bins = statistics.bins
    end = max(bins)
    if statistics.samples is not None and statistics.samples != sum(bins.values()):
        raise InputError(f"{path}: the histogram of Xenomai's latency has {sum(bins.values())} of "
                         f"{statistics.samples} samples: it is incomplete")  # fmt: skip
    overflow = 0
    if last.worst > end + 1:
        # What is beyond the end is counted in the last bucket, with what belongs there.
        overflow = bins.pop(end)
    ends = {min(value + 1, math.ceil(last.worst)): count for value, count in bins.items()}
    printed = Printed(last.average * _US, last.worst * _US)
    run = histogram_run(path, TOOL, ends, overflow, int(_US), printed, *more, _BUCKETS,
                        *_not_counted(last), of_ends=True)  # fmt: skip
    return replace(run, overruns=last.overruns)


def _of_statistics(statistics: _Statistics) -> ImportedRun:
    """Return the run of which only the lines of -s were kept: it has no maximum."""
    return summary_run(
        TOOL, statistics.average * _US, None, (_NO_LARGEST, _CUT_BUCKETS), average_cut_ns=_US,
        activations=statistics.samples,
    )  # fmt: skip
