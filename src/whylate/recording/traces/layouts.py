"""How a line of a trace is laid out: which thread, CPU and time, which event, and its fields.

Sources: the kernel's trace_output.c (trace_print_context, trace_print_lat_context), trace-cmd's
trace-read.c, perf's builtin-script.c; and real traces of each (tests/recording/traces).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: Columns: task, pid, CPU, flags (or none), seconds, their fraction, event, its fields.
_TIME = rb"(\d{1,10})\.(\d{6}|\d{9}): +"
_EVENT = rb"(\w{1,64}):[ \t]*(.*)"
#: A name in its column is 16 characters wide at most. What it holds is up to whoever named the
#: thread: the longest fit is the column, whatever looks like one within the name.
_COLUMN = rb"^(.{1,16})-(\d{1,10}) +(?:\([ \d-]{1,12}\) +)?\[(\d{1,5})\] +(?:([^\s\[\]:]{3,12}) +)?"
_NARROW = rb"^ *(.{1,8})-(\d{1,10}) +(\d{1,5})([^\s\d:]\S{2,11}) +"
_PERF = (
    rb"^ *([^ ].{0,15}|) +(?:-?\d{1,10}/)?(-?\d{1,10}) +\[(\d{1,5})\] +(?:([^\s\[\]:]{3,12}) +)?"
)


@dataclass(frozen=True)
class Layout:
    """A way to write a line. name: as a person knows it. odd: time and CPU of any other line."""

    name: str
    line: re.Pattern[bytes]
    odd: re.Pattern[bytes]


FTRACE = Layout(
    "ftrace text",
    re.compile(_COLUMN + _TIME + _EVENT, re.DOTALL),
    re.compile(_COLUMN + _TIME + rb"()(.*)", re.DOTALL),
)
NARROW = Layout(
    "ftrace text in latency format",
    re.compile(_NARROW + _TIME + _EVENT, re.DOTALL),
    re.compile(_NARROW + _TIME + rb"()(.*)", re.DOTALL),
)
PERF = Layout(
    "perf script text",
    re.compile(_PERF + _TIME + rb"(?:\d+ +)?(?:[\w-]{1,64}:)?" + _EVENT, re.DOTALL),
    re.compile(_PERF + _TIME + rb"()(.*)", re.DOTALL),
)
LAYOUTS = (FTRACE, NARROW, PERF)
#: perf's lines without the column of the CPU.
_PERF_WITHOUT_CPU = re.compile(
    rb"^ *([^ ].{0,15}|) +(?:\d{1,10}/)?\d{1,10} +\d{1,10}\.\d{6,9}: +(?:\d+ +)?"
    rb"[\w-]{1,64}:\w{1,64}:"
)


def layout_of(lines: Sequence[bytes]) -> Layout | None:
    """Return the layout that most of the lines have; None: none of them has any."""
    counts = [sum(1 for line in lines if layout.odd.match(line)) for layout in LAYOUTS]
    most = max(counts, default=0)
    return LAYOUTS[counts.index(most)] if most else None


def lacks_cpu(lines: Sequence[bytes]) -> bool:
    """Return whether these are lines of perf script that do not say on which CPU."""
    return any(_PERF_WITHOUT_CPU.match(line) for line in lines)
