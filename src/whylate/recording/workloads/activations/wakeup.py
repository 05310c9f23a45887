"""Building the samples of the workload `wakeup`: the stages of a block follow it, or are lost.

The probe sends a block of each CPU every 100 ms: to decode each alone takes longer than what is in
it. They wait until there are many, and are decoded together where nothing is unusual in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from whylate.recording.workloads.activations.accounting import CpuAccounting
from whylate.recording.workloads.activations.assembler import ActivationAssembler, Sink, Stages
from whylate.wire.block_batches import BlockBatch, unpack_blocks
from whylate.wire.blocks import decode_block_rows, numbers_in
from whylate.wire.codec import WireError
from whylate.wire.constants import NOT_SEEN
from whylate.wire.events import STAGE_COLUMNS, decode_stages
from whylate.wire.frame_batches import FrameBatch
from whylate.wire.messages import CpuStarted, Samples, SampleStages
from whylate.wire.samples import decode_sample_blocks, decode_samples

#: Blocks of a CPU that wait.
_WAITING = 1024


@dataclass
class _Blocks:
    """Blocks of samples of a CPU: their fields, and the data of the stages that came."""

    first: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)
    stages: list[bytes | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.first)

    def cut(self, first: int, end: int) -> _Blocks:
        """Return blocks first to end - 1."""
        return _Blocks(
            self.first[first:end], self.count[first:end],
            self.data[first:end], self.stages[first:end],
        )  # fmt: skip


#: A few bytes say millions of overruns: these are 1.9 hours of stalls at 50 us, and 2 GB of rows
#: (they are kept block by block).
MOST_OVERRUNS = 1 << 27


class WakeupAssembler(ActivationAssembler):
    """Builds rows of periodic wakeups."""

    def __init__(self, sink: Sink, duration_ns: int) -> None:
        super().__init__(sink, duration_ns)
        self._waiting: dict[int, _Blocks] = {}
        self._overruns = 0

    def start(self, message: CpuStarted) -> None:
        """Add a CPU with a schedule."""
        if message.interval_ns and message.cpu not in self.accountings:
            self.accountings[message.cpu] = CpuAccounting(message)

    def add_samples(self, accounting: CpuAccounting, message: Samples) -> None:
        """Add a block; earlier ones are passed on when there are many."""
        waiting = self._waiting.setdefault(message.cpu, _Blocks())
        if len(waiting) >= _WAITING:
            self._pass_on(accounting, waiting)
            waiting = self._waiting[message.cpu] = _Blocks()
        waiting.first.append(message.first)
        waiting.count.append(message.count)
        waiting.data.append(message.data)
        waiting.stages.append(None)

    def add_stages(self, message: SampleStages) -> None:
        """Add the stages of the last block; raises WireError where they are of none."""
        waiting = self._waiting.get(message.cpu)
        if (
            not waiting
            or waiting.stages[-1] is not None
            or (waiting.first[-1], waiting.count[-1]) != (message.first, message.count)
        ):
            raise WireError("stages of no block of samples")
        waiting.stages[-1] = message.data

    def add_blocks(self, frames: FrameBatch) -> bool:
        """Add blocks and their stages together; return False, and add none, if any is unusual."""
        batch = unpack_blocks(frames)
        cpus = np.unique(batch.cpu).tolist() if batch is not None else []
        if batch is None or not all(cpu in self.accountings for cpu in cpus):
            return False
        of_cpu = {cpu: batch.of_cpu(cpu) for cpu in cpus}
        for cpu, blocks in of_cpu.items():
            waiting = self._waiting.get(cpu)
            before = (waiting.first[-1], waiting.count[-1]) if waiting else None
            free = waiting is not None and bool(waiting) and waiting.stages[-1] is None
            if not blocks.is_in_order(before if free else None):
                return False
        for cpu, blocks in of_cpu.items():
            self._extend(cpu, blocks)
        return True

    def _extend(self, cpu: int, blocks: BlockBatch) -> None:
        waiting = self._waiting.setdefault(cpu, _Blocks())
        if blocks.is_stages[0]:
            waiting.stages[-1] = blocks.data(0)
        samples = np.flatnonzero(~blocks.is_stages)
        staged = np.append(blocks.is_stages, False)[samples + 1]
        waiting.first += blocks.first[samples].tolist()
        waiting.count += blocks.count[samples].tolist()
        waiting.data += map(blocks.data, samples.tolist())
        waiting.stages += [
            blocks.data(index + 1) if has else None
            for index, has in zip(samples.tolist(), staged.tolist(), strict=True)
        ]
        if len(waiting) > _WAITING:
            # The stages of the last may come yet.
            self._pass_on(self.accountings[cpu], waiting.cut(0, -1))
            self._waiting[cpu] = waiting.cut(len(waiting) - 1, len(waiting))

    def close(self) -> None:
        """Pass on what waits."""
        for cpu, waiting in self._waiting.items():
            self._pass_on(self.accountings[cpu], waiting)
        self._waiting.clear()

    def _pass_on(self, accounting: CpuAccounting, blocks: _Blocks) -> None:
        if not blocks:
            return
        raw, edges = _joined(blocks.data)
        # With overruns there are more numbers than samples.
        unusual = numbers_in(raw, edges) != np.array(blocks.count)
        cuts = [0, *(np.flatnonzero(np.diff(unusual)) + 1).tolist(), len(blocks)]
        for first, end in pairwise(cuts):
            together = blocks.cut(first, end)
            if unusual[first] or not self._pass_together(accounting, together):
                for index in range(len(together)):
                    self._pass_alone(accounting, together, index)

    def _pass_together(self, accounting: CpuAccounting, blocks: _Blocks) -> bool:
        """Pass on blocks in which nothing is unusual; return False where something is."""
        if blocks.first[0] < accounting.next:
            return False
        count = np.array(blocks.count)
        rows = decode_sample_blocks(
            np.array(blocks.first), count, *_joined(blocks.data), accounting.planned
        )
        if rows is None:
            return False
        stages = None
        staged = [data for data in blocks.stages if data is not None]
        if staged:
            has = np.array([data is not None for data in blocks.stages])
            stages = decode_block_rows(*_joined(staged), count[has], "stages")
            if stages is None:
                return False
            if not has.all():
                rows_have = np.repeat(has, count)
                whole = np.full((rows_have.size, STAGE_COLUMNS), NOT_SEEN, stages.dtype)
                whole[rows_have] = stages
                stages = whole
        cpu = accounting.started.cpu
        accounting.add(rows)
        self.digest.add(cpu, rows)
        self.sink(cpu, rows, stages, None)
        return True

    def _pass_alone(self, accounting: CpuAccounting, blocks: _Blocks, index: int) -> None:
        """Pass on a block unless it, or its stages, cannot be understood."""
        cpu, staged = accounting.started.cpu, blocks.stages[index]
        first, count = blocks.first[index], blocks.count[index]
        if first < accounting.next:
            # It would be unpacked for nothing, and may say that millions were overrun.
            accounting.refused += 1
            self.malformed += staged is not None
            return
        try:
            samples = Samples(cpu, count, first, blocks.data[index])
            rows = decode_samples(samples, accounting.started.interval_ns, accounting.planned)
            self._overruns += int(rows.overrun.sum())
            if self._overruns > MOST_OVERRUNS:
                raise WireError(f"more than {MOST_OVERRUNS} overruns in a run")
        except WireError:
            self.malformed += 1 + (staged is not None)
            return
        if not accounting.add(rows):
            self.malformed += staged is not None
            return
        self.digest.add(cpu, rows)
        stages: Stages | None = None
        if staged is not None:
            try:
                stages = decode_stages(SampleStages(cpu, count, first, staged))
            except WireError:
                self.malformed += 1
        self.sink(cpu, rows, stages, None)


def _joined(data: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return blocks one behind the other, uint8, and where each ends, int64, shape (blocks,)."""
    return np.frombuffer(b"".join(data), np.uint8), np.cumsum([len(part) for part in data])
