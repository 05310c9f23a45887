"""Stacks that a trace prints below an event, as far as they show what an activation waited for."""

from __future__ import annotations

import re

from whylate.recording.events import Event, Kind
from whylate.recording.traces.cpu import Cpu
from whylate.recording.traces.fields import text

#: Functions of a stack that are kept.
MOST_FRAMES = 64
_FTRACE = re.compile(rb"^ *=> ([\w.$]{1,160}(?:\+0x[0-9a-f]+(?:/0x[0-9a-f]+)?)?)")
_PERF = re.compile(rb"^\s+[0-9a-f]{1,16} ([\w.$]{1,160}(?:\+0x[0-9a-f]+)?) \((\[[^)]{1,64})")
_PERF_ANY = re.compile(rb"^\s+[0-9a-f]{1,16} ")

#: The way of an interrupt into the kernel: what is below it on the stack was interrupted.
_INTO_INTERRUPT = re.compile(
    r"asm_sysvec_\w+|asm_common_interrupt|asm_exc_nmi|(?:apic_timer|call_function|common|reschedule"
    r"|irq_work)\w*_interrupt|ret_from_intr|el1h?(?:_64)?_(?:irq|interrupt)|__irq_svc|__irq_usr"
    r"|el0t?(?:_64)?_irq|handle_arch_irq|handle_exception|ret_from_exception"
)
#: Functions that do nothing but unlock, switch interrupts on and return: a thread there
#: by an interrupt had them off until then.
_SWITCHES_ON = re.compile(r"_raw_(?:spin|read|write)_unlock_irq(?:restore)?")


def is_frame(line: bytes) -> bool:
    """Return whether a line is a frame of a stack."""
    return line.lstrip()[:2] == b"=>" or _PERF_ANY.match(line) is not None


def frame(line: bytes) -> str | None:
    """Return the kernel's function in a line of a stack; None: it has none."""
    match = _FTRACE.match(line)
    if match is None:
        match = _PERF.match(line)
        # What the kernel calls its own stands in brackets; a file's path does not.
        if match is None or b"[unknown]" in match[2]:
            return None
    name = text(match[1])
    # A stack that was shorter than its place ends in zeros.
    return None if name == "0" else name


def stack_event(time_ns: int, cpu: int, kind: Kind, frames: list[str]) -> Event | None:
    """Return the event of a stack that was taken at an event of `kind`; None: it shows nothing."""
    if kind is Kind.SWITCH:
        return Event(time_ns, cpu, Kind.STACK, name="switch", stack=tuple(frames))
    into = [i for i, name in enumerate(frames) if _INTO_INTERRUPT.fullmatch(_plain(name))]
    if not into or into[-1] + 1 >= len(frames):
        return None
    # An interrupt within another: the stack was taken in the innermost.
    below = frames[_first_run_end(into) + 1 :]
    if not below:
        return None
    enabled = True if _SWITCHES_ON.fullmatch(_plain(below[0])) else None
    return Event(time_ns, cpu, Kind.STACK, name="timer", stack=tuple(below), enabled=enabled)


def _first_run_end(into: list[int]) -> int:
    """Return the last of the adjoining entries that come first."""
    end = into[0]
    for index in into[1:]:
        if index != end + 1:
            break
        end = index
    return end


def _plain(name: str) -> str:
    return name.partition("+")[0].partition(".")[0]


class Stacks:
    """Puts the stacks of a trace where they belong: behind the events that they were taken at.

    below: the CPU whose event was the last; frames without a line that names
    their CPU belong to it.
    """

    def __init__(self) -> None:
        self.below: Cpu | None = None
        self._frames: list[str] = []
        #: Whose the frames are that come: the CPU, and the time and kind of its event.
        self._of: tuple[Cpu, int, Kind | None] | None = None

    @property
    def reading(self) -> bool:
        """Whether a stack has begun and not ended."""
        return self._of is not None

    def begins(self, cpu: Cpu, time_ns: int, kind: Kind | None) -> None:
        """Let the frames that follow belong to this event; kind None: they are dropped."""
        self.ends()
        self._of = cpu, time_ns, kind

    def add_frame(self, line: bytes) -> None:
        """Add a line with a frame."""
        if self._of is None and self.below is not None:
            self._of = self.below, self.below.last_ns, self.below.last_kind
        if self._of is not None and self._of[2] is not None and len(self._frames) < MOST_FRAMES:
            name = frame(line)
            if name is not None:
                self._frames.append(name)

    def ends(self) -> None:
        """Keep the stack that was read, where it shows what an activation waited for."""
        if self._frames and self._of is not None and self._of[2] is not None:
            cpu, time_ns, kind = self._of[0], self._of[1], self._of[2]
            event = stack_event(time_ns, cpu.cpu, kind, self._frames)
            if event is not None:
                cpu.ring.append((time_ns, Kind.STACK, event, 0))
        self._frames = []
        self._of = None
