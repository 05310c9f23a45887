"""What stands between the events of a trace: headers, losses, stacks."""

from __future__ import annotations

import re

from whylate.recording.events import Kind
from whylate.recording.traces.cpu import Cpu
from whylate.recording.traces.seen import Seen
from whylate.recording.traces.stacks import MOST_FRAMES, frame, stack_event

_LOSS = re.compile(rb"^ *CPU:(\d{1,5}) \[(?:LOST )?(\d{1,18})? ?EVENTS(?: DROPPED)?\]")
_PERF_LOSS = re.compile(rb"\[(\d{1,5})\].{1,64}PERF_RECORD_LOST\S{0,16} lost (\d{1,18})")
_CPUS = re.compile(rb"#P:(\d{1,5})|^cpus=(\d{1,5})|^# nrcpus online : (\d{1,5})")
_ENTRIES = re.compile(rb"^# entries-in-buffer/entries-written: (\d{1,18})/(\d{1,18})")
#: Lines that tools put above, below and between the events.
_CHATTER = (b"#", b"cpus=", b"version =", b"CPU ", b"[", b"==")
MOST_CPUS = 4096


def loss(line: bytes) -> tuple[bytes, int] | None:
    """Return the CPU of which events were lost, and how many; None: it is another line."""
    match = _LOSS.match(line) or _PERF_LOSS.search(line)
    return None if match is None else (match[1], int(match[2] or 0))


def is_header(line: bytes, seen: Seen) -> bool:
    """Return whether a line is one that a tool adds; its facts of the trace are kept."""
    if not line.startswith(_CHATTER):
        return False
    if seen.header_cpus is None and (cpus := _CPUS.search(line)) is not None:
        seen.header_cpus = max(1, min(MOST_CPUS, int(next(filter(None, cpus.groups())))))
    if (entries := _ENTRIES.match(line)) is not None:
        seen.buffered, seen.written = int(entries[1]), int(entries[2])
    return True


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
