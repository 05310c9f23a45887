"""A recording of hours, made up as it is written: its journal never is in memory.

Latencies are those of latency_model.py, with stalls that have overruns and gaps of dropped
activations. Windows of the flight recorder are those of a short real run: each recorded activation
gets the events of the real one whose latency is nearest. Blocks and their rate are as the probe
sends them: what came in 100 ms.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from latency_model import simulate_run
from whylate.boards.local import LocalBoard
from whylate.recording.plan import RunPlan
from whylate.recording.store.journal import CLOSING, NAME, OPENING, Closing, Opening, read_journal
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet
from whylate.wire.frame import encode_frame
from whylate.wire.messages import (
    MESSAGES,
    CpuResult,
    CpuStarted,
    Events,
    Message,
    Name,
    Progress,
    RecorderCost,
    RecorderResult,
    RecorderSource,
    RecorderStarted,
    Result,
    Samples,
    SampleStages,
    Symbols,
    Window,
)

INTERVAL_NS = 1_000_000
#: Activations of a CPU that are made up at a time.
STRETCH = 100_000
#: Activations of a block, as many as come between two looks of the probe's shipping thread.
BLOCK = 100
#: One activation in so many is in the tail that is recorded, and one in so many is a control.
TAIL_OF, CONTROL_OF = 500, 1000
_FIFO = 1

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Template:
    """What a short real run sent: the journal's first record, its names, its windows."""

    opening: Opening
    recorder: list[Message]
    names: list[Message]
    windows: list[tuple[Window, Events]]
    results: list[Message]


def real_template(folder: Path, seconds: int = 10) -> Template:
    """Measure this machine for so long, and keep what was sent."""
    directory, copy = folder / "template", folder / "template.journal"
    ended = threading.Event()

    def keep() -> None:
        # The journal goes when the run is over: another name keeps it.
        while not ended.is_set():
            try:
                os.link(directory / NAME, copy)
            except OSError:
                time.sleep(0.02)
            else:
                return

    keeping = threading.Thread(target=keep)
    keeping.start()
    workload = Wakeup(
        duration_ns=seconds * 1_000_000_000, interval_ns=INTERVAL_NS, recorder=RecorderPlan()
    )
    try:
        measure(LocalBoard(), RunPlan(workload=workload), directory, Quiet())
    finally:
        ended.set()
        keeping.join()
    return read_template(copy)


def read_template(journal: Path) -> Template:
    """Return what a journal holds of a run."""
    opening, sent = None, []
    for frame in read_journal(journal)[0]:
        if frame.kind == OPENING:
            opening = msgspec.json.decode(frame.payload, type=Opening)
        elif frame.kind in MESSAGES:
            sent.append(MESSAGES[frame.kind].unpack(frame.payload))
    assert opening is not None
    begins = (RecorderStarted, RecorderSource, Symbols, RecorderCost)
    windows = [
        (window, events)
        for window, events, after in zip(sent, sent[1:], [*sent[2:], None], strict=False)
        if isinstance(window, Window) and isinstance(events, Events)
        if not isinstance(after, Events) and window.events == events.count
    ]
    return Template(
        opening,
        [message for message in sent if isinstance(message, begins)],
        [message for message in sent if isinstance(message, Name)],
        sorted(windows, key=lambda pair: pair[0].run_ns - pair[0].due_ns),
        [message for message in sent if isinstance(message, RecorderResult)],
    )


@dataclass(frozen=True)
class Stretch:
    """Consecutive activations of one CPU that were seen, and how many overruns follow each.

    latency_ns, followers: int64, shape (n,). first: the number of the first activation.
    """

    cpu: int
    first: int
    latency_ns: Int64s
    followers: Int64s

    @property
    def numbers(self) -> Int64s:
        """The number of each activation, int64, shape (n,)."""
        return self.first + np.arange(self.followers.size) + self._before

    @property
    def _before(self) -> Int64s:
        return np.cumsum(self.followers) - self.followers

    @property
    def end(self) -> int:
        """The number after the last activation."""
        return self.first + int(self.followers.size + self.followers.sum())

    def stages_ns(self) -> Int64s:
        """When each came to its stages: parts of the latency, shape (n, 3)."""
        return np.stack([self.latency_ns * k // 10 for k in (3, 4, 9)], axis=1)


def make_stretch(rng: np.random.Generator, cpu: int, first: int, rows: int) -> Stretch:
    """Make up a stretch: one stall in a minute, of 2 to 20 ms."""
    latency_ns = np.round(
        1000 * simulate_run(rng, rows, run_median_sd=0, run_rate_sd=0, run_scale_sd=0)
    ).astype(np.int64)
    followers = np.zeros(rows, np.int64)
    stalls = np.unique(rng.integers(0, rows, rng.poisson(rows / 60_000)))
    latency_ns[stalls] = rng.integers(2 * INTERVAL_NS, 20 * INTERVAL_NS, stalls.size)
    followers[stalls] = latency_ns[stalls] // INTERVAL_NS
    return Stretch(cpu, first, latency_ns, followers)


def stretches(rng: np.random.Generator, cpus: int, each: int) -> Iterator[list[Stretch]]:
    """Yield stretches of all CPUs until each has so many activations; a few are dropped."""
    first = [0] * cpus
    while min(first) < each:
        made = []
        for cpu in range(cpus):
            rows = min(STRETCH, each - first[cpu])
            stretch = make_stretch(rng, cpu, first[cpu], max(rows - 30, 1))
            if stretch.end > each:
                # Stalls in the last stretch that would go beyond the end.
                stretch = replace(stretch, followers=np.zeros_like(stretch.followers))
            # Where overruns are few the stretch ends early: the rest is dropped, once in a while.
            dropped = 500 if rng.random() < 0.01 and rows == STRETCH else 0
            first[cpu] = stretch.end + dropped
            made.append(stretch)
            if each - first[cpu] < 60:
                first[cpu] = each
        yield made


def encode_numbers(numbers: NDArray[np.uint64]) -> tuple[bytes, Int64s]:
    """Return LEB128 numbers, and where each begins, and the end, int64, shape (n + 1,)."""
    length = np.ones(numbers.size, np.int64)
    for septets in range(1, 10):
        length += numbers >= np.uint64(1 << 7 * septets)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(length)))
    data = np.zeros(int(starts[-1]), np.uint8)
    for septet in range(int(length.max(initial=0))):
        has = length > septet
        low = (numbers[has] >> np.uint64(7 * septet)) & np.uint64(0x7F)
        more = (length[has] > septet + 1).astype(np.uint8) << 7
        data[starts[:-1][has] + septet] = low.astype(np.uint8) | more
    return data.tobytes(), starts


def zigzag(values: Int64s) -> NDArray[np.uint64]:
    """Return signed numbers as unsigned ones."""
    return ((values << 1) ^ (values >> 63)).view(np.uint64)


def blocks_of(stretch: Stretch) -> Iterator[tuple[int, Samples, SampleStages]]:
    """Yield the blocks of a stretch, and the row that each begins with."""
    latency_ns = stretch.latency_ns
    at = np.arange(0, latency_ns.size, BLOCK)
    steps = np.diff(latency_ns, prepend=0)
    steps[at] = latency_ns[at]
    data, starts = encode_numbers(zigzag(steps))
    staged, stage_starts = encode_numbers(zigzag(stretch.stages_ns()).ravel() + np.uint64(1))
    numbers = stretch.numbers
    stalls = np.flatnonzero(stretch.followers)
    for row in at.tolist():
        end = min(row + BLOCK, latency_ns.size)
        block = data[starts[row] : starts[end]]
        inside = stalls[(stalls >= row) & (stalls < end)]
        for stall in inside.tolist():
            pair = np.array([stall - row, stretch.followers[stall]], np.uint64)
            block += encode_numbers(pair)[0]
        first = int(numbers[row])
        stage = staged[stage_starts[3 * row] : stage_starts[3 * end]]
        yield (
            row,
            Samples(stretch.cpu, end - row, first, block),
            SampleStages(stretch.cpu, end - row, first, stage),
        )


class JournalMaker:
    """Writes the journal of a long run as a probe would have sent it."""

    def __init__(self, template: Template, path: Path, start_ns: int) -> None:
        self._template = template
        self._file = path.open("wb")
        self._number = 0
        self._start_ns = start_ns
        windows = template.windows
        self._latency_ns = np.array([w.run_ns - w.due_ns for w, _ in windows])
        self.windows = 0

    def record(self, kind: int, record: msgspec.Struct) -> None:
        """Write a record of the host."""
        self._file.write(encode_frame(kind, 0, msgspec.json.encode(record)))

    def send(self, message: Message) -> None:
        """Write a message."""
        self._number += 1
        self._file.write(encode_frame(message.KIND, self._number, message.pack()))

    def stretches(self, made: Sequence[Stretch], rng: np.random.Generator) -> None:
        """Write what was sent of a stretch of time: blocks, progress, windows."""
        recorded = [self._recorded(stretch, rng) for stretch in made]
        numbers = [stretch.numbers for stretch in made]
        for blocks in zip(*map(blocks_of, made), strict=False):
            self.send(Progress(0, tuple(samples.first + samples.count for _, samples, _ in blocks)))
            for (row, samples, stages), stretch, reasons, number in zip(
                blocks, made, recorded, numbers, strict=True
            ):
                self.send(samples)
                self.send(stages)
                for at in range(row, row + samples.count):
                    if at in reasons:
                        self._window(stretch, at, int(number[at]), reasons[at])

    def _recorded(self, stretch: Stretch, rng: np.random.Generator) -> dict[int, int]:
        """Return the rows of a stretch that have windows: 0 control, 1 tail."""
        latency_ns = stretch.latency_ns
        chosen = np.flatnonzero(rng.random(latency_ns.size) < 1 / CONTROL_OF)
        limit = np.partition(latency_ns, -max(1, latency_ns.size // TAIL_OF))
        late = np.flatnonzero(latency_ns > limit[-max(1, latency_ns.size // TAIL_OF)])
        return dict.fromkeys(chosen.tolist(), 0) | dict.fromkeys(late.tolist(), 1)

    def _window(self, stretch: Stretch, row: int, number: int, reason: int) -> None:
        latency_ns = int(stretch.latency_ns[row])
        near = min(int(np.searchsorted(self._latency_ns, latency_ns)), self._latency_ns.size - 1)
        window, events = self._template.windows[near]
        due_ns = self._start_ns + number * INTERVAL_NS

        def moved(time_ns: int) -> int:
            return due_ns + min(time_ns - window.due_ns, latency_ns) if time_ns else 0

        self.send(
            msgspec.structs.replace(
                window,
                cpu=stretch.cpu,
                reason=reason,
                activation=number,
                due_ns=due_ns,
                run_ns=due_ns + latency_ns,
                timer_ns=moved(window.timer_ns),
                waking_ns=moved(window.waking_ns),
                switched_ns=moved(window.switched_ns),
                observed_ns=moved(window.observed_ns),
                waking_cpu=stretch.cpu,
            )
        )
        self.send(msgspec.structs.replace(events, cpu=stretch.cpu))
        self.windows += 1

    def close(self) -> None:
        """Write what is left."""
        self._file.close()


def write_journal(
    directory: Path, template: Template, activations: int, cpus: int = 4, seed: int = 1
) -> None:
    """Write the journal of a run with about so many activations, as if it had just ended."""
    each = activations // cpus
    rng = np.random.default_rng(seed)
    workload = Wakeup(
        duration_ns=each * INTERVAL_NS, interval_ns=INTERVAL_NS, recorder=RecorderPlan()
    )
    plan = RunPlan(workload=workload, cpus=list(range(cpus)))
    start_ns = 3_000_000_000_000
    end_ns = start_ns + each * INTERVAL_NS
    directory.mkdir()
    maker = JournalMaker(template, directory / NAME, start_ns)
    maker.record(OPENING, msgspec.structs.replace(template.opening, plan=plan))
    for message in [*template.recorder, *template.names]:
        maker.send(message)
    for cpu in range(cpus):
        priority = workload.priority
        maker.send(CpuStarted(cpu, _FIFO, priority, 1, start_ns, end_ns, INTERVAL_NS))
    seen, overrun = [0] * cpus, [0] * cpus
    for made in stretches(rng, cpus, each):
        maker.stretches(made, rng)
        for stretch in made:
            seen[stretch.cpu] += stretch.followers.size
            overrun[stretch.cpu] += int(stretch.followers.sum())
    for cpu in range(cpus):
        maker.send(
            CpuResult(
                cpu,
                _FIFO,
                workload.priority,
                1,
                start_ns,
                end_ns,
                seen[cpu],
                overrun[cpu],
                each - seen[cpu] - overrun[cpu],
            )
        )
    for message in template.results:
        maker.send(message)
    maker.send(Result(each * 2_000, 4 << 20))
    maker.record(CLOSING, Closing("complete", [], [], 0, 0, 0, 0))
    maker.close()
