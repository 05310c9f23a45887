"""rtla timerlat top, osnoise top and hwnoise: a row of figures for each CPU.

timerlat top has a count, and for each of interrupt, thread and user latency the current, smallest,
mean and largest value in µs, or in ns with -n. As of its histogram the latest latency that was
measured is used. A mean is the sum by the count, cut to a whole unit (timerlat_top_print_sum() in
tools/tracing/rtla/src/timerlat_top.c), and the latencies themselves are cut before they are summed.
osnoise top and hwnoise have how long noise was in all, at most in one period (Max Noise), and the
longest single one (Max Single), in µs (osnoise_top.c): the latter is the maximum here. A session
without -q prints its table again and again: the last one counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from whylate.quantities import format_count
from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.model import (
    ALL_BUT_TWO,
    ImportedRun,
    InputError,
    cut_mean,
    missed,
    summary_run,
)
from whylate.text import shown

SIGN = r"IRQ Timer Latency \((?:us|ns)\)|Max Noise +Max Single"
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
_DURATION = re.compile(r"(?:duration: +)?(\d{1,6}) (\d\d):(\d\d):(\d\d) *\|")
_LATENCY = re.compile(r"IRQ Timer Latency \((us|ns)\)")
_NOISE = re.compile(r"CPU Period +Runtime +Noise +% CPU Aval +Max Noise +Max Single")
_ROW = re.compile(r"(\d{1,5}) #(\d{1,18}) *\|(.+)")
_NOISE_ROW = re.compile(
    r"\d{1,5} #\d{1,18} +(\d{1,18}) +(\d{1,18}) +[\d.]+ +\d{1,18} +(\d{1,18})\b"
)
_STOPPED = re.compile(r"hit stop tracing")
_ANALYSED = re.compile(r"IRQ handler delay: ")
_STOP = (
    "what came after the first latency above the limit at which the run stopped; its cause: "
    "whylate explain --import {}"
)
#: Where -a and -t save the trace.
_TRACE = "timerlat_trace.txt"
_US = 1000


@dataclass
class _Session:
    """A table so far. noise: runtime, noise and longest single noise of each CPU, µs."""

    unit: str = ""
    seconds: int = -1
    rows: dict[int, tuple[int, list[str]]] = field(default_factory=dict)
    noise: list[tuple[int, int, int]] = field(default_factory=list)
    stopped: bool = False
    analysed: bool = False

    def has_rows(self) -> bool:
        return bool(self.rows or self.noise)


def read_text(path: Path) -> list[ImportedRun]:
    """Read its tables, the last of each session; raises InputError."""
    sessions: list[_Session] = []
    seconds = -1
    for text in unquoted(path):
        line = (_ANSI.sub("", text) if "\x1b" in text else text).strip()
        if (time := _DURATION.match(line)) is not None:
            days, hours, minutes, rest = (int(part) for part in time.groups())
            seconds = ((days * 24 + hours) * 60 + minutes) * 60 + rest
        if (latency := _LATENCY.search(line)) is not None:
            _begin(sessions, _Session(latency[1], seconds))
        elif _NOISE.search(line):
            _begin(sessions, _Session("noise", seconds))
        elif sessions:
            _add_line(path, sessions[-1], line)
    runs = [_run(path, session) for session in sessions]
    return [run for run in runs if run is not None]


def _begin(sessions: list[_Session], session: _Session) -> None:
    """Add a table, in the place of the last one where that is of the same session."""
    last = sessions[-1] if sessions else None
    # While it runs its time goes on.
    again = last is not None and last.unit == session.unit and last.seconds < session.seconds
    if again or (last is not None and not last.has_rows()):
        sessions.pop()
    sessions.append(session)


def _add_line(path: Path, session: _Session, line: str) -> None:
    session.stopped = session.stopped or _STOPPED.search(line) is not None
    session.analysed = session.analysed or _ANALYSED.match(line) is not None
    if session.unit == "noise":
        if (noise := _NOISE_ROW.match(line)) is not None:
            session.noise.append((int(noise[1]), int(noise[2]), int(noise[3])))
        return
    if (row := _ROW.match(line)) is None:
        return
    cells = row[3].replace("|", " ").split()
    if len(cells) % 4 or any(cell != "-" and not cell.isdecimal() for cell in cells):
        raise InputError(f"{path}: the row of CPU {row[1]} is incomplete: repair it")
    if int(row[1]) in session.rows:
        raise InputError(f"{path} has CPU {row[1]} twice in a table of rtla timerlat top")
    session.rows[int(row[1])] = int(row[2]), cells


def _run(path: Path, session: _Session) -> ImportedRun | None:
    if session.noise:
        return _noise_run(session)
    if not session.rows:
        return None
    rows = list(session.rows.values())
    if len({len(cells) for _, cells in rows}) > 1:
        raise InputError(f"{path} has rows of rtla timerlat top with more columns than others")
    scale = 1 if session.unit == "ns" else _US
    for first in range(len(rows[0][1]) - 4, -4, -4):
        known = [(count, int(cells[first + 2]), int(cells[first + 3]))
                 for count, cells in rows if cells[first + 3] != "-"]  # fmt: skip
        if known:
            break
    else:
        return None
    counted = sum(count for count, _, _ in known)
    mean = sum(count * average for count, average, _ in known) / max(counted, 1)
    lacks = [ALL_BUT_TWO, cut_mean("rtla", f"1 {'ns' if scale == 1 else 'µs'}"), missed("timerlat")]
    if session.stopped:
        lacks.append(_STOP.format(shown(path.name, 80) if session.analysed else _TRACE))
    return summary_run("rtla timerlat", mean * scale, max(most for _, _, most in known) * scale,
                       lacks, average_cut_ns=scale, activations=counted)  # fmt: skip


def _noise_run(session: _Session) -> ImportedRun:
    runtime_us = sum(runtime for runtime, _, _ in session.noise)
    noise_us = sum(noise for _, noise, _ in session.noise)
    largest = max(single for _, _, single in session.noise)
    sums = f"{format_count(noise_us)} µs in all, of {format_count(runtime_us)} µs"
    lacks = (
        f"every single noise but the longest: {sums}",
        "up to 1 µs of the longest, and noise shorter than the tracer's threshold",
    )
    return summary_run("rtla osnoise", None, largest * _US, lacks)
