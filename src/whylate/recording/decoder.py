"""Decoding a journal, frame by frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from whylate.recording.hits import HitAssembler
from whylate.recording.load_rates import LoadAccounting
from whylate.recording.manifest import LATE_START, AppEnd, Problem
from whylate.recording.recorder.assembler import WindowAssembler
from whylate.recording.sections import SectionReport
from whylate.recording.store.journal import CLOSING, OPENING, Closing, Opening
from whylate.recording.workloads.activations.assembler import Sink
from whylate.recording.workloads.activations.registry import activation_assembler
from whylate.recording.workloads.benchmarks import CounterPlan, with_counter_name
from whylate.recording.workloads.benchmarks.registry import BENCHMARK_MESSAGES, repetition_assembler
from whylate.text import shown
from whylate.wire.block_batches import BLOCK_KINDS
from whylate.wire.codec import WireError
from whylate.wire.frame import Frame
from whylate.wire.frame_batches import FrameBatch
from whylate.wire.messages import (
    MESSAGES,
    AppEnded,
    Events,
    Failed,
    LoadDevice,
    LoadStarted,
    LoadWork,
    Message,
    Note,
    Progress,
    Result,
    Window,
)

#: Notes that are kept; of more, their number.
MOST_NOTES = 200
#: Notes of the probe that make its samples untrustworthy.
FATAL_NOTES = {LATE_START, "moved", "hides-idle", "gaps"}


_Family = tuple[Sequence[int], Callable[[FrameBatch], bool]]


class JournalDecoder:
    """Collects what a journal that begins with `opening` holds."""

    def __init__(
        self,
        opening: Opening,
        sink: Sink | None,
        recorder: WindowAssembler | None,
        longer: Sink | None = None,
    ) -> None:
        plan = opening.plan
        self.opening = opening
        self.closing: Closing | None = None
        self.recorder = recorder
        self.result: Result | None = None
        self.loads = [LoadAccounting(load) for load in plan.loads]
        self._notes: list[Problem] = []
        self._more_notes = 0
        self._more_fatal = False
        self._malformed = 0
        self.app_end: AppEnd | None = None
        self.hits = HitAssembler(plan.hits)
        self.activations = (
            activation_assembler(plan.activations, sink, longer)
            if plan.activations and sink
            else None
        )
        self.repetitions = repetition_assembler(plan.benchmark) if plan.benchmark else None

    @property
    def started(self) -> bool:
        """Whether measuring has begun."""
        assembler = self.activations or self.repetitions
        return assembler is not None and assembler.started

    @property
    def section(self) -> SectionReport | None:
        """How the executions of a section were timed; None of another workload."""
        return self.activations.section if self.activations is not None else None

    @property
    def malformed(self) -> int:
        """Messages that cannot be understood."""
        late = self.activations.malformed if self.activations is not None else 0
        return self._malformed + late

    @property
    def whole(self) -> bool:
        """Whether the run came to the end of its workload."""
        return self.result is not None and (self.activations is None or self.activations.whole)

    @property
    def notes(self) -> list[Problem]:
        """What the probe noticed."""
        if not self._more_notes:
            return self._notes
        text = f"{self._more_notes} more notes of the probe are left out"
        return [*self._notes, Problem("notes", text, fatal=self._more_fatal)]

    def add(self, frame: Frame) -> None:
        """Add a frame; one that cannot be understood is counted."""
        try:
            if frame.kind == OPENING:
                return
            if frame.kind == CLOSING:
                self.closing = msgspec.json.decode(frame.payload, type=Closing)
            elif frame.kind in MESSAGES:
                self._message(MESSAGES[frame.kind].unpack(frame.payload))
        except (WireError, msgspec.ValidationError, msgspec.DecodeError):
            self._malformed += 1

    def add_batch(self, batch: FrameBatch) -> None:
        """Add frames. Of the most frequent kinds, those between two others are added together."""
        kinds = [kind for family, _ in self._families() for kind in family]
        others = np.flatnonzero(~np.isin(batch.kind, kinds)).tolist()
        at = 0
        for index in [*others, len(batch)]:
            if index > at:
                self._add_together(batch.select(slice(at, index)))
            if index < len(batch):
                self.add(batch.frame(index))
            at = index + 1

    def _add_together(self, batch: FrameBatch) -> None:
        """Add frames of frequent kinds: one family does not depend on another."""
        for kinds, add in self._families():
            own = batch.select(np.isin(batch.kind, kinds))
            if len(own) and not add(own):
                self._add_alone(own)

    def _add_alone(self, batch: FrameBatch) -> None:
        for index in range(len(batch)):
            self.add(batch.frame(index))

    def _add_windows(self, batch: FrameBatch) -> bool:
        if self.recorder is not None:
            self.recorder.add_windows(batch, self._add_alone)
        return True

    def _families(self) -> list[_Family]:
        """Return kinds of messages, and what adds many: it returns False where it adds none."""
        families: list[_Family] = []
        if self.activations is not None:
            families.append((BLOCK_KINDS, self.activations.add_blocks))
            families.append(([Progress.KIND], self.activations.add_progress))
        if self.recorder is not None:
            families.append(([Window.KIND, Events.KIND], self._add_windows))
        return families

    def close(self) -> None:
        """Pass on what waits."""
        if self.activations is not None:
            self.activations.close()
        if self.recorder is not None:
            self.recorder.flush()

    def _message(self, message: Message) -> None:
        """Add a message; of some nothing is kept. Raises WireError."""
        counters = self.opening.plan.workload.counters
        if self.activations is not None and self.activations.add(message, counters):
            return
        if (self.recorder is not None and self.recorder.add(message)) or self.hits.add(message):
            return
        match message:
            case AppEnded():
                self.app_end = AppEnd(message.status, message.signal)
            case Failed() if self.recorder is not None and not self.started:
                # A probe without a recorder; any other refusal ends the run.
                self.recorder.accounting.refuse(message.text)
            case LoadStarted() | LoadWork() | LoadDevice() if message.load < len(self.loads):
                self._add_load(self.loads[message.load], message)
            case Result():
                self.result = message
            case Note():
                self._note(message, counters)
            case _ if isinstance(message, BENCHMARK_MESSAGES):
                if self.repetitions is None:
                    raise WireError("a repetition of a workload that has none")
                self.repetitions.add(message)

    def _note(self, note: Note, counters: Sequence[CounterPlan]) -> None:
        fatal = note.code in FATAL_NOTES
        if len(self._notes) < MOST_NOTES:
            text = with_counter_name(note.text, counters)
            self._notes.append(Problem(shown(note.code, 40), shown(text, 400), fatal=fatal))
        else:
            self._more_notes += 1
            self._more_fatal |= fatal

    def _add_load(self, load: LoadAccounting, message: LoadStarted | LoadWork | LoadDevice) -> None:
        if isinstance(message, LoadStarted):
            load.unit = shown(message.unit, 40)
        elif self.result is not None:
            # After the result the loads are being ended: their work is no rate.
            return
        elif isinstance(message, LoadDevice):
            load.add_device(message, measuring=self.started)
        else:
            load.add(message, measuring=self.started)
