"""Decoding a journal, frame by frame."""

from __future__ import annotations

from functools import singledispatchmethod

import msgspec

from whylate.recording.load_rates import LoadAccounting
from whylate.recording.manifest import AppEnd, Problem
from whylate.recording.recorder.assembler import WindowAssembler
from whylate.recording.shown import shown
from whylate.recording.store.journal import CLOSING, OPENING, Closing, Opening
from whylate.recording.workloads import BENCHMARK_MESSAGES, repetition_assembler
from whylate.recording.workloads.activations.assembler import Sink
from whylate.recording.workloads.activations.registry import activation_assembler
from whylate.recording.workloads.benchmarks import with_counter_name
from whylate.wire.codec import WireError
from whylate.wire.frame import Frame
from whylate.wire.messages import (
    MESSAGES,
    AppEnded,
    BuildId,
    Events,
    Failed,
    LoadStarted,
    LoadWork,
    Message,
    Note,
    RecorderCost,
    RecorderResult,
    RecorderSource,
    RecorderStarted,
    Result,
    Symbols,
    Window,
)

#: Notes of the probe that make its samples untrustworthy.
FATAL_NOTES = {"late-start", "moved", "hides-idle", "gaps"}


class JournalDecoder:
    """Collects what a journal that begins with `opening` holds."""

    def __init__(
        self, opening: Opening, sink: Sink | None, recorder: WindowAssembler | None
    ) -> None:
        plan = opening.plan
        self.opening = opening
        self.closing: Closing | None = None
        self.recorder = recorder
        self.result: Result | None = None
        self.loads = [LoadAccounting(load) for load in plan.loads]
        self.notes: list[Problem] = []
        #: Messages that cannot be understood.
        self.malformed = 0
        self.app_end: AppEnd | None = None
        self.activations = (
            activation_assembler(plan.activations, sink) if plan.activations and sink else None
        )
        self.repetitions = repetition_assembler(plan.benchmark) if plan.benchmark else None

    @property
    def started(self) -> bool:
        """Whether measuring has begun."""
        assembler = self.activations or self.repetitions
        return assembler is not None and assembler.started

    @property
    def whole(self) -> bool:
        """Whether the run came to the end of its workload."""
        return self.result is not None and (self.activations is None or self.activations.whole)

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
            self.malformed += 1

    def close(self) -> None:
        """Pass on what waits."""
        if self.activations is not None:
            self.activations.close()
        if self.recorder is not None:
            self.recorder.flush()

    @singledispatchmethod
    def _message(self, message: Message) -> None:
        """Add a message that is of the workload, or of which nothing is kept."""
        if self.activations is not None:
            counters = self.opening.plan.workload.counters
            if self.activations.add(message, counters):
                return
        if isinstance(message, BENCHMARK_MESSAGES):
            if self.repetitions is None:
                raise WireError("a repetition of a workload that has none")
            self.repetitions.add(message)

    @_message.register
    def _(self, message: AppEnded) -> None:
        self.app_end = AppEnd(message.status, message.signal)

    @_message.register
    def _(
        self, message: RecorderStarted | RecorderSource | RecorderCost | Symbols | BuildId
    ) -> None:
        if self.recorder is not None:
            self.recorder.accounting.add(message)

    @_message.register
    def _(self, message: Window) -> None:
        if self.recorder is not None:
            self.recorder.begin(message)

    @_message.register
    def _(self, message: Events) -> None:
        if self.recorder is not None:
            self.recorder.add_events(message)

    @_message.register
    def _(self, message: RecorderResult) -> None:
        if self.recorder is not None:
            self.recorder.end(message)

    @_message.register
    def _(self, message: Failed) -> None:
        # A probe without a recorder; any other refusal ends the run.
        if self.recorder is not None and not self.started:
            self.recorder.accounting.refuse(message.text)

    @_message.register
    def _(self, message: LoadStarted) -> None:
        if message.load < len(self.loads):
            self.loads[message.load].unit = shown(message.unit, 40)

    @_message.register
    def _(self, message: LoadWork) -> None:
        # After the result the loads are being ended: their work is no rate.
        if message.load < len(self.loads) and self.result is None:
            self.loads[message.load].add(message, measuring=self.started)

    @_message.register
    def _(self, message: Result) -> None:
        self.result = message

    @_message.register
    def _(self, message: Note) -> None:
        if self.recorder is not None and self.recorder.accounting.add(message):
            return
        fatal = message.code in FATAL_NOTES
        text = with_counter_name(message.text, self.opening.plan.workload.counters)
        self.notes.append(Problem(shown(message.code, 40), shown(text, 400), fatal=fatal))
