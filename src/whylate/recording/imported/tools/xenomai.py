"""Xenomai's `latency`: its RTD and RTS lines, in microseconds, also out of a mail.

RTT|time since the start              now and then, with the headings
RTD|min|avg|max|overrun|msw|best|worst   each second; best and worst: so far
RTS|min|avg|max|overrun|msw|runtime      at the end; a mail may have wrapped the run time

Before Xenomai 2.5 there was no msw. The formats are those of testsuite/latency/latency.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.model import ALL_BUT_TWO, ImportedRun, InputError, summary_run

_US = 1000.0
#: Always with three decimals: a line that lacks one was cut.
_NUMBER = r"\s*(-?\d+\.\d{3})"
_COUNT = r"\s*(\d+)\s*\|"
_FIRST = rf"\|{_NUMBER}\s*\|{_NUMBER}\s*\|{_NUMBER}\s*\|{_COUNT}"
_SECOND = re.compile(rf"RTD{_FIRST}(?:{_COUNT})?{_NUMBER}\s*\|{_NUMBER}(?!\S)")
_SUM = re.compile(rf"RTS{_FIRST}(?:{_COUNT}|\s*\d+:\d\d:\d\d/)")
_CLOCK = re.compile(r"RTT\|\s*(\d{1,9}):(\d\d):(\d\d)\s+\(")
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


def read_text(path: Path) -> list[ImportedRun]:
    """Read all runs of a file, none where it is not of Xenomai; raises InputError.

    A run ends with its RTS line; RTD lines without one are a run that was broken off.
    """
    runs: list[ImportedRun] = []
    seconds: list[_Line] = []
    clock = 0
    for text in _unwrapped(path):
        if match := _CLOCK.match(text):
            before, clock = clock, int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3])
            if seconds and clock <= max(before, 1):
                runs.append(_broken_off(seconds))
                seconds = []
        elif match := _SECOND.match(text) or _SUM.match(text):
            line = _line(match)
            if seconds and not line.goes_on(seconds[-1]):
                runs.append(_broken_off(seconds))
                seconds = []
            if match.re is _SECOND:
                seconds.append(line)
                continue
            runs.append(_run(line, line.average, line.worst, ()))
            seconds, clock = [], 0
    return [*runs, _broken_off(seconds)] if seconds else runs


def _unwrapped(path: Path) -> Iterator[str]:
    """Give all lines, those of `latency` whole, in one piece where a mail wrapped them."""
    held = ""
    for text in unquoted(path):
        line = text.strip()
        if held and not _NO_REST.match(line):
            line = f"{held} {line}"
        elif held:
            raise _cut(path, held)
        held = ""
        if not _OURS.match(line) or _SECOND.match(line) or _SUM.match(line):
            yield line
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


def _broken_off(seconds: list[_Line]) -> ImportedRun:
    """Return a run of which some seconds are known, and the worst up to the last of them."""
    average = sum(line.average for line in seconds) / len(seconds)
    return _run(seconds[-1], average, max(line.worst for line in seconds), (_NO_END,))


def _run(last: _Line, average_us: float, largest_us: float, more: tuple[str, ...]) -> ImportedRun:
    lacks = [ALL_BUT_TWO, *more]
    if last.overruns:
        lacks.append(f"the latencies of {last.overruns} overruns")
    if last.switches:
        lacks.append(f"what {last.switches} mode switches to Linux cost")
    return summary_run("Xenomai latency", average_us * _US, largest_us * _US, lacks,
                       overruns=last.overruns)  # fmt: skip
