"""The auto-analysis of rtla timerlat (-a, -T, -i, --aa-only): the parts of a latency.

Source: tools/tracing/rtla/src/timerlat_aa.c of Linux 6.3 to 6.18. rtla prints one for each CPU
whose latency was above the limit: a title, which the first versions leave out, parts in µs with two
decimals, and the latency below a rule. Until 6.9 it printed tabs; one version lacks the line's end
behind "Previous IRQ interference". With -i the timer's interrupt stopped the trace: what it prints
as "IRQ handler delay" is then of an earlier activation, since timerlat_aa_irq_latency() does not
clear it, and the parts that come later are not there. rtla osnoise has no such analysis.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from whylate.recording.traces.fields import text
from whylate.recording.traces.seen import Seen
from whylate.recording.traces.stacks import MOST_FRAMES

#: Analyses of a file, and parts of one, that are kept.
MOST_ANALYSES = 1000
MOST_PARTS = 4096
#: CPUs of a machine.
_MOST_CPUS = 4096

_US = rb"(\d{1,12})\.(\d\d) us"
_TITLE = re.compile(rb"## CPU (\d{1,5}) hit stop tracing")
_PREVIOUS = re.compile(rb"Previous IRQ interference: *up to +" + _US)
_DELAY = re.compile(rb"IRQ handler delay: +(\(exit from idle\))? *" + _US)
_IRQ = re.compile(rb"IRQ latency: +" + _US)
_TIMER = re.compile(rb"Timerlat IRQ duration: +" + _US)
_BLOCKING = re.compile(rb"Blocking thread:(?: +" + _US + rb"|$)")
_STACK = re.compile(rb"Blocking thread stack ?trace")
_FRAME = re.compile(rb"-> ([\w.$]{1,160})")
_SUM = re.compile(rb"(NMI|IRQ|Softirq|Thread) interference +" + _US)
#: What an interference is made of; of a blocking thread without its time the name alone.
_PART = re.compile(rb"(\S.{0,40}?):(\d{1,10})(?: +" + _US + rb")?$")
_RULE = re.compile(rb"-{20,}")
_END = re.compile(rb"(Thread|IRQ) latency: +" + _US + rb"( \(100)?")
_IDLE = re.compile(r"swapper/(\d{1,5})")
#: What mails put before a line, and the blanks that pasting may have changed.
_QUOTE = re.compile(rb"^(?:[ \t]*>[ \t]?)+")
_BLANKS = re.compile(rb"(?:[ \t]|\xc2\xa0)+")

#: How rtla calls what got in the way.
KINDS = ("NMI", "IRQ", "Softirq", "Thread")


@dataclass(frozen=True, slots=True)
class Interference:
    """One that got in the way after the timer's interrupt. kind: one of KINDS."""

    kind: str
    name: str
    number: int
    length_ns: int


@dataclass
class AutoAnalysis:
    """One activation, in ns with a resolution of 10; None: it was not printed.

    cpu: -1 where it is not printed. by_irq: the latency of the timer's interrupt stopped the trace,
    and latency_ns is that; else it is that of the thread. delay_ns: until that interrupt began,
    previous_ns of it at most in an earlier one. from_idle: rtla calls the delay "exit from idle".
    timer_ns: of the timer's interrupt. blocked_by: the thread that it interrupted, by name and
    number, and blocking_ns how long that went on running. sums_ns: interference by kind.
    """

    cpu: int = -1
    by_irq: bool = False
    latency_ns: int = 0
    previous_ns: int | None = None
    delay_ns: int | None = None
    from_idle: bool = False
    timer_ns: int | None = None
    blocking_ns: int | None = None
    blocked_by: tuple[str, int] | None = None
    stack: tuple[str, ...] = ()
    sums_ns: dict[str, int] = field(default_factory=dict)
    parts: list[Interference] = field(default_factory=list)


def is_auto_analysis(lines: Iterable[bytes]) -> bool:
    """Return whether any of these lines is of an auto-analysis."""
    return any(b"IRQ" in line and _DELAY.search(_bare(line)) is not None for line in lines)


def auto_analyses(lines: Iterable[bytes], seen: Seen) -> tuple[tuple[AutoAnalysis, ...], int]:
    """Return the analyses of a file, and how many have no end and are left out."""
    reader = _Reader()
    for line in lines:
        seen.lines += 1
        reader.add_line(_bare(line))
        if len(reader.ended) == MOST_ANALYSES:
            break
    reader.leave_open()
    seen.layout = "timerlat auto-analysis"
    seen.cpus = {analysis.cpu for analysis in reader.ended}
    seen.traced = len(reader.ended)
    return tuple(reader.ended), reader.torn


def _bare(line: bytes) -> bytes:
    """Return a line without quote marks, each run of blanks as one."""
    return _BLANKS.sub(b" ", _QUOTE.sub(b"", line)).strip(b" \r")


def _ns(match: re.Match[bytes], first: int) -> int:
    return int(match[first]) * 1000 + int(match[first + 1]) * 10


class _Reader:
    """Takes lines; ended: the analyses that are complete, torn: how many were not."""

    def __init__(self) -> None:
        self.ended: list[AutoAnalysis] = []
        self.torn = 0
        self._open: AutoAnalysis | None = None
        self._kind = ""
        self._ruled = False
        self._frames: list[str] = []

    def add_line(self, line: bytes) -> None:
        """Take a line without what mails put before it."""
        if (title := _TITLE.search(line)) is not None:
            self.leave_open()
            self._begin(int(title[1]))
            return
        previous, delay = _PREVIOUS.search(line), _DELAY.search(line)
        if previous is not None or delay is not None:
            if self._open is None or self._open.delay_ns is not None:
                self.leave_open()
                self._begin(-1)
            self._add_delay(previous, delay)
        elif self._open is not None:
            self._add(self._open, line)

    def leave_open(self) -> None:
        """Count what has no end, if anything of it was printed."""
        if self._open is not None and self._open.delay_ns is not None:
            self.torn += 1
        self._open = None

    def _begin(self, cpu: int) -> None:
        self._open = AutoAnalysis(cpu if cpu < _MOST_CPUS else -1)
        self._kind, self._ruled, self._frames = "", False, []

    def _add_delay(self, previous: re.Match[bytes] | None, delay: re.Match[bytes] | None) -> None:
        assert self._open is not None  # noqa: S101 - the caller has begun one
        if previous is not None:
            self._open.previous_ns = _ns(previous, 1)
        if delay is not None:
            self._open.from_idle = delay[1] is not None
            self._open.delay_ns = _ns(delay, 2)

    def _add(self, analysis: AutoAnalysis, line: bytes) -> None:
        if (end := _END.match(line)) is not None and (self._ruled or end[4] is not None):
            self._end(analysis, by_irq=end[1] == b"IRQ", latency_ns=_ns(end, 2))
        elif _RULE.match(line):
            self._ruled = True
        elif (timer := _TIMER.match(line)) is not None:
            analysis.timer_ns = _ns(timer, 1)
        elif (blocking := _BLOCKING.match(line)) is not None:
            analysis.blocking_ns = _ns(blocking, 1) if blocking[1] is not None else None
            self._kind = "blocking"
        elif _STACK.match(line):
            self._kind = "stack"
        elif (total := _SUM.match(line)) is not None:
            self._kind = total[1].decode()
            analysis.sums_ns[self._kind] = _ns(total, 2)
        elif self._kind == "stack" and (frame := _FRAME.search(line)) is not None:
            if len(self._frames) < MOST_FRAMES:
                # With --stack-format=full what has no name is an address.
                name = text(frame[1])
                self._frames.append("?" if name.startswith("0x") else name)
        elif not _IRQ.match(line) and (part := _PART.match(line)) is not None:
            self._add_part(analysis, part)

    def _add_part(self, analysis: AutoAnalysis, part: re.Match[bytes]) -> None:
        name, number = text(part[1].strip()), int(part[2])
        if self._kind == "blocking":
            analysis.blocked_by = name, number
            idle = _IDLE.fullmatch(name) if number == 0 else None
            if analysis.cpu < 0 and idle is not None and int(idle[1]) < _MOST_CPUS:
                # The idle thread bears the number of its CPU.
                analysis.cpu = int(idle[1])
        elif self._kind in KINDS and part[3] is not None and len(analysis.parts) < MOST_PARTS:
            analysis.parts.append(Interference(self._kind, name, number, _ns(part, 3)))

    def _end(self, analysis: AutoAnalysis, *, by_irq: bool, latency_ns: int) -> None:
        analysis.by_irq, analysis.latency_ns = by_irq, latency_ns
        analysis.stack = tuple(self._frames)
        self._open = None
        if latency_ns and analysis.delay_ns is not None:
            self.ended.append(analysis)
