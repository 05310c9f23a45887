"""Building windows from the messages of the flight recorder, while a journal is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from whylate.recording.events import Event, Window
from whylate.recording.manifest import Problem, RecorderReport, TaskName
from whylate.recording.recorder.accounting import RecorderAccounting
from whylate.recording.recorder.raw_events import Names, is_possible, name_events
from whylate.recording.recorder.window_batches import decode_windows
from whylate.recording.recorder.windows import REASONS, WindowsWriter
from whylate.recording.store.journal import read_journal
from whylate.wire.codec import WireError
from whylate.wire.events import RawEvent, decode_events
from whylate.wire.frame_batches import FrameBatch
from whylate.wire.messages import Events, Message, Name, RecorderResult
from whylate.wire.messages import Window as WindowMessage

INT64_MAX = (1 << 63) - 1
#: Events of a window: more than the rings of all CPUs hold.
MOST_EVENTS = 1 << 20


#: So few windows are put together one by one.
_FEW = 8


def read_names(journal: Path) -> Names:
    """Return all names of a journal: those of addresses come after the events that need them."""
    names = Names()
    frames, _ = read_journal(journal, frozenset({Name.KIND}))
    for frame in frames:
        try:
            message = Name.unpack(frame.payload)
        except WireError:
            continue
        names.add(message.table, message.id, message.text)
    return names


class WindowAssembler:
    """Builds windows from messages in their order, and writes them; raises OSError."""

    def __init__(self, writer: WindowsWriter, names: Names, machine: str) -> None:
        self._writer = writer
        self._names = names
        self._machine = machine
        self.accounting = RecorderAccounting()
        self._window: WindowMessage | None = None
        self._raw: dict[int, list[RawEvent]] = {}
        #: Windows of which events were lost on the way.
        self.torn = 0

    def add(self, message: Message) -> bool:
        """Add a message; return whether it was about the recorder. Raises WireError."""
        match message:
            case WindowMessage():
                self._begin(message)
            case Events():
                if self._window is None:
                    raise WireError("events of no window")
                events = decode_events(message, self._window.due_ns)
                if sum(map(len, self._raw.values())) + len(events) > MOST_EVENTS:
                    raise WireError("a window of more events than there is room for")
                self._raw.setdefault(message.cpu, []).extend(events)
            case RecorderResult():
                # It follows the last window.
                self.flush()
                self.accounting.add(message)
            case _:
                return self.accounting.add(message)
        return True

    def add_windows(self, frames: FrameBatch, alone: Callable[[FrameBatch], None]) -> None:
        """Add frames of windows and events together, where nothing in them is unusual.

        alone: adds those that have to be added one by one, the last window among them: more of its
        events may come.
        """
        starts = np.flatnonzero(frames.kind == WindowMessage.KIND)
        batch = None
        if starts.size > _FEW:
            whole = frames.select(slice(starts[0], starts[-1]))
            batch = decode_windows(whole, self._names, self._machine, len(REASONS) - 1)
        if batch is None:
            alone(frames)
            return
        alone(frames.select(slice(0, starts[0])))
        self.flush()
        self.torn += int(np.count_nonzero(~batch.whole))
        self._writer.add_batch(batch)
        alone(frames.select(slice(starts[-1], None)))

    def _begin(self, message: WindowMessage) -> None:
        self.flush()
        times = (message.due_ns, message.run_ns, message.timer_ns, message.waking_ns,
                 message.switched_ns, message.observed_ns, message.activation)  # fmt: skip
        if max(times) > INT64_MAX or message.tid > 0x7FFFFFFF or message.run_ns < message.due_ns:
            raise WireError("a window at no possible time")
        if message.reason >= len(REASONS):
            raise WireError("a window for no known reason")
        self._window = message
        self._raw = {}

    def flush(self) -> None:
        """Write the window that is being put together."""
        message, self._window = self._window, None
        if message is None:
            return
        whole = len(self._raw.get(message.cpu, ())) == message.events
        self.torn += not whole
        events: list[Event] = []
        for cpu, raw in self._raw.items():
            # What no probe keeps is left out.
            fit = filter(is_possible, raw)
            events += name_events(fit, cpu, self._names, self._machine)
        events.sort(key=lambda event: event.time_ns)
        self._writer.add(
            Window(
                cpu=message.cpu,
                activation=message.activation,
                pid=message.tid,
                prio=message.prio,
                due_ns=message.due_ns,
                run_ns=message.run_ns,
                reason=REASONS[message.reason],
                timer_ns=message.timer_ns or None,
                waking_ns=message.waking_ns or None,
                switched_ns=message.switched_ns or None,
                waking_cpu=message.waking_cpu if message.waking_ns else None,
                # Of a window with lost events nothing counts as observed.
                observed_ns=message.observed_ns if whole and message.events else message.run_ns,
                events=tuple(events),
            ),
            # A difference of sums is modulo 2^64: a negative one is a sum that was not recorded.
            [ns if ns <= INT64_MAX else 0 for ns in message.sums],
        )

    def process_names(self, pids: Iterable[int]) -> dict[int, str]:
        """Return the names of those threads of a watched program that have one."""
        return {pid: name for pid in pids if (name := self._names.process(pid)) is not None}

    def tasks(self) -> list[TaskName]:
        """Return which threads had which names."""
        return self._names.tasks()

    def report(self) -> RecorderReport:
        """Return what the recorder did."""
        return self.accounting.report(self._writer.count)

    def problems(self) -> list[Problem]:
        """Return the warnings about the recorder."""
        if not self.accounting.has_begun:
            reason = self.accounting.refused or "the probe gave no reason"
            text = f"nothing was recorded beside the samples: {reason}"
        elif self.torn:
            text = f"{self.torn} recorded windows lost events: they count as not observed"
        elif error := self.accounting.attach_error:
            text = (
                "the recorder was detached for a while, and could not be attached again in full "
                f"({os.strerror(error)}): later activations are not observed, or in part"
            )
        else:
            return []
        return [Problem("recorder", text, fatal=False)]
