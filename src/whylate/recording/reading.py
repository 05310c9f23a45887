"""What a journal tells, message by message, while it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatchmethod

import msgspec
import numpy as np
from numpy.typing import NDArray

from whylate.recording.accounting import CpuBook
from whylate.recording.app_accounting import AppBook, check_result, check_started
from whylate.recording.app_blocks import AppBlocks
from whylate.recording.digest import SamplesDigest
from whylate.recording.journal import CLOSING, OPENING, Closing, Opening
from whylate.recording.load_rates import LoadBook
from whylate.recording.manifest import AppEnd, CpuEvents, Problem
from whylate.recording.recorder_book import RecorderBook
from whylate.recording.shown import shown
from whylate.recording.workloads import BENCHMARK_MESSAGES, repetition_assembler
from whylate.recording.workloads.assembler import RepetitionAssembler
from whylate.recording.workloads.benchmarks import with_counter_name
from whylate.wire.app_samples import Threads
from whylate.wire.codec import WireError
from whylate.wire.events import decode_stages
from whylate.wire.frame import Frame
from whylate.wire.messages import (
    MESSAGES,
    AppEnded,
    BuildId,
    CpuResult,
    CpuStarted,
    Events,
    Failed,
    LoadStarted,
    LoadWork,
    Message,
    Note,
    Progress,
    RecorderCost,
    RecorderResult,
    RecorderSource,
    RecorderStarted,
    Result,
    Samples,
    SampleStages,
    SampleThreads,
    Symbols,
    Window,
)
from whylate.wire.messages import CpuEvents as CpuEventsMessage
from whylate.wire.samples import Rows, decode_samples

#: Notes of the probe after which its samples do not say what they should.
FATAL_NOTES = {"late-start", "moved", "hides-idle", "gaps"}
#: Threads of a watched program that are remembered, to name them.
MOST_THREADS = 16384

Stages = NDArray[np.int64]
#: Given the rows of a CPU, their stages, and whose they are in the app workload.
Sink = Callable[[int, Rows, Stages | None, Threads | None], None]


@dataclass
class Reading:
    """What was found so far in a journal that begins with `opening`."""

    rows: Sink
    opening: Opening
    recorder: RecorderBook | None = None
    closing: Closing | None = None
    books: dict[int, CpuBook] = field(default_factory=dict)
    result: Result | None = None
    loads: list[LoadBook] = field(init=False)
    notes: list[Problem] = field(default_factory=list)
    malformed: int = 0
    digest: SamplesDigest = field(default_factory=SamplesDigest)
    #: The last rows of each CPU: their stages come behind them.
    waiting: dict[int, tuple[Samples, Rows]] = field(default_factory=dict)
    #: The same of the app workload, whose activations tell more of themselves.
    blocks: AppBlocks = field(default_factory=AppBlocks)
    #: Threads of a watched program of which there are rows.
    threads: set[int] = field(default_factory=set)
    app_end: AppEnd | None = None
    #: What was counted of each CPU's measuring thread.
    events: dict[int, CpuEvents] = field(default_factory=dict)
    #: Of a benchmark.
    repetitions: RepetitionAssembler | None = None

    def __post_init__(self) -> None:
        plan = self.opening.plan
        if plan.benchmark is not None:
            self.repetitions = repetition_assembler(plan.benchmark)
        self.loads = [LoadBook(load) for load in plan.loads]
        #: Whether a program is watched.
        self.app = plan.target is not None

    def take(self, frame: Frame) -> None:
        """Take one frame; what cannot be understood is counted."""
        try:
            if frame.kind == OPENING:
                return
            if frame.kind == CLOSING:
                self.closing = msgspec.json.decode(frame.payload, type=Closing)
            elif frame.kind in MESSAGES:
                self._message(MESSAGES[frame.kind].unpack(frame.payload))
        except (WireError, msgspec.ValidationError, msgspec.DecodeError):
            self.malformed += 1

    @singledispatchmethod
    def _message(self, message: Message) -> None:
        """Take a message; of those that are named nowhere nothing is kept."""
        if isinstance(message, BENCHMARK_MESSAGES):
            if self.repetitions is None:
                raise WireError("a repetition of a workload that has none")
            self.repetitions.add(message)

    @_message.register
    def _(self, message: CpuStarted) -> None:
        if self.app:
            check_started(message)
            self.books.setdefault(message.cpu, AppBook(message))
        elif message.interval_ns and message.cpu not in self.books:
            self.books[message.cpu] = CpuBook(message)

    @_message.register
    def _(self, message: Samples) -> None:
        book = self.books.get(message.cpu)
        if book is None:
            self.malformed += 1
            return
        if self.app:
            self.blocks.samples(message)
            return
        rows = decode_samples(message, book.started.interval_ns, book.planned)
        self.pass_on(message.cpu)
        if book.take(rows):
            self.digest.take(message.cpu, rows)
            self.waiting[message.cpu] = message, rows

    def pass_on(self, cpu: int, stages: NDArray[np.int64] | None = None) -> None:
        """Let go of the rows of a CPU that wait for their stages."""
        if cpu in self.waiting:
            self.rows(cpu, self.waiting.pop(cpu)[1], stages, None)

    @_message.register
    def _(self, message: SampleStages) -> None:
        if self.app:
            self.blocks.stages(message)
            return
        stages = decode_stages(message)
        samples, _ = self.waiting.get(message.cpu, (None, None))
        if samples is None or (samples.first, samples.count) != (message.first, message.count):
            raise WireError("stages of no block of samples")
        self.pass_on(message.cpu, stages)

    @_message.register
    def _(self, message: SampleThreads) -> None:
        book = self.books.get(message.cpu)
        if not isinstance(book, AppBook):
            raise WireError("threads of a CPU that is not watched")
        block = self.blocks.threads(message, book.started.start_ns)
        if book.take(block.rows):
            book.ran(block.rows, block.threads)
            self.digest.take(message.cpu, block.rows)
            if len(self.threads) < MOST_THREADS:
                self.threads.update(np.unique(block.threads.pid).tolist())
            self.rows(message.cpu, block.rows, block.stages, block.threads)

    @_message.register
    def _(self, message: AppEnded) -> None:
        self.app_end = AppEnd(message.status, message.signal)

    @_message.register
    def _(
        self, message: RecorderStarted | RecorderSource | RecorderCost | Symbols | BuildId
    ) -> None:
        if self.recorder is not None:
            self.recorder.account.take(message)

    @_message.register
    def _(self, message: Window) -> None:
        if self.recorder is not None:
            self.recorder.window(message)

    @_message.register
    def _(self, message: Events) -> None:
        if self.recorder is not None:
            self.recorder.events(message)

    @_message.register
    def _(self, message: RecorderResult) -> None:
        if self.recorder is not None:
            self.recorder.result(message)

    @_message.register
    def _(self, message: Failed) -> None:
        # A probe that knows no recorder; all else that is refused ends the run.
        if self.recorder is not None and not self.books:
            self.recorder.account.refuse(message.text)

    @_message.register
    def _(self, message: Progress) -> None:
        for book, upto in zip(self.books.values(), message.next, strict=False):
            book.progress = upto

    @_message.register
    def _(self, message: LoadStarted) -> None:
        if message.load < len(self.loads):
            self.loads[message.load].unit = shown(message.unit, 40)

    @_message.register
    def _(self, message: LoadWork) -> None:
        # After the result the loads are being ended: what they do then is no rate.
        if message.load < len(self.loads) and self.result is None:
            self.loads[message.load].take(message, measuring=self.started)

    @_message.register
    def _(self, message: CpuResult) -> None:
        book = self.books.get(message.cpu)
        if book is not None:
            if self.app:
                check_result(message, book.started)
            book.result = message

    @_message.register
    def _(self, message: CpuEventsMessage) -> None:
        counters = self.opening.plan.workload.counters
        if message.cpu not in self.books or len(message.values) != len(counters):
            raise WireError("counts that were not asked for")
        counts = {one.name: n for one, n in zip(counters, message.values, strict=True)}
        if any(n >= 1 << 63 for n in counts.values()):
            raise WireError("counts beyond all bounds")
        self.events[message.cpu] = CpuEvents(message.cpu, counts)

    @_message.register
    def _(self, message: Result) -> None:
        self.result = message

    @_message.register
    def _(self, message: Note) -> None:
        if self.recorder is not None and self.recorder.account.take(message):
            return
        fatal = message.code in FATAL_NOTES
        text = with_counter_name(message.text, self.opening.plan.workload.counters)
        self.notes.append(Problem(shown(message.code, 40), shown(text, 400), fatal=fatal))

    @property
    def started(self) -> bool:
        """Whether measuring has begun."""
        return bool(self.books) or (self.repetitions is not None and self.repetitions.started)

    @property
    def whole(self) -> bool:
        """Whether the run came to the end of its workload."""
        return self.result is not None and all(b.result for b in self.books.values())
