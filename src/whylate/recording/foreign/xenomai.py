"""Xenomai's `latency`: its RTD and RTS lines, in microseconds, also out of a mail.

RTD|min|avg|max|overrun|msw|best|worst   each second
RTS|min|avg|max|overrun|msw|runtime      at the end; a mail may have wrapped the run time
"""

from __future__ import annotations

import re
from pathlib import Path

from whylate.recording.foreign.lines import unquoted
from whylate.recording.foreign.model import ALL_BUT_TWO, ForeignRun

_US = 1000.0
_NUMBER = r"\s*(-?\d+(?:\.\d+)?)\s*"
_COUNT = r"\s*(\d+)\s*"
_LINE = re.compile(rf"\s*(RT[DS])\|{_NUMBER}\|{_NUMBER}\|{_NUMBER}\|{_COUNT}\|(?:{_COUNT}\|)?.*")


def read_text(path: Path) -> list[ForeignRun]:
    """Read all runs of a file, none where it is not of Xenomai; raises ForeignError.

    A run ends with its RTS line; RTD lines without one are a run that was broken off.
    """
    runs: list[ForeignRun] = []
    seconds: list[tuple[float, float, int]] = []
    for line in unquoted(path):
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        average, largest, overruns = float(match[3]), float(match[4]), int(match[5])
        if match[1] == "RTD":
            seconds.append((average, largest, overruns))
            continue
        runs.append(_run(average, largest, overruns, int(match[6] or 0)))
        seconds = []
    if seconds:
        average = sum(one for one, _, _ in seconds) / len(seconds)
        runs.append(_run(average, max(one for _, one, _ in seconds), seconds[-1][2], 0))
    return runs


def _run(average_us: float, largest_us: float, overruns: int, switches: int) -> ForeignRun:
    lacks = [ALL_BUT_TWO]
    if overruns:
        lacks.append(f"how late {overruns} overruns were")
    if switches:
        lacks.append(f"what {switches} mode switches to Linux cost")
    return ForeignRun("Xenomai latency", None, 0, False, average_us * _US, largest_us * _US,
                      overruns, tuple(lacks))  # fmt: skip
