"""Building the samples of the workload `wakeup`: the stages of a block follow it, or are lost.

The probe sends a block of each CPU every 100 ms: to decode each alone takes longer than what is in
it. They wait until there are many, and are decoded together where nothing is unusual in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from whylate.recording.workloads.activations.accounting import CpuAccounting
from whylate.recording.workloads.activations.assembler import ActivationAssembler, Sink, Stages
from whylate.wire.blocks import decode_block_rows
from whylate.wire.codec import WireError
from whylate.wire.constants import NOT_SEEN
from whylate.wire.events import STAGE_COLUMNS, decode_stages
from whylate.wire.messages import CpuStarted, Samples, SampleStages
from whylate.wire.samples import decode_sample_blocks, decode_samples, has_overruns

#: Blocks of a CPU that wait.
_WAITING = 1024


@dataclass
class _Block:
    """A block of samples, and its stages if they came."""

    samples: Samples
    stages: SampleStages | None = None


#: A few bytes say millions of overruns: these are 1.9 hours of stalls at 50 us, and 2 GB of rows
#: (they are kept block by block).
MOST_OVERRUNS = 1 << 27


class WakeupAssembler(ActivationAssembler):
    """Builds rows of periodic wakeups."""

    def __init__(self, sink: Sink, duration_ns: int) -> None:
        super().__init__(sink, duration_ns)
        self._waiting: dict[int, list[_Block]] = {}
        self._overruns = 0

    def start(self, message: CpuStarted) -> None:
        """Add a CPU with a schedule."""
        if message.interval_ns and message.cpu not in self.accountings:
            self.accountings[message.cpu] = CpuAccounting(message)

    def add_samples(self, accounting: CpuAccounting, message: Samples) -> None:
        """Add a block; earlier ones are passed on when there are many."""
        waiting = self._waiting.setdefault(message.cpu, [])
        if len(waiting) >= _WAITING:
            self._pass_on(accounting, waiting)
            waiting.clear()
        waiting.append(_Block(message))

    def add_stages(self, message: SampleStages) -> None:
        """Add the stages of the last block; raises WireError where they are of none."""
        waiting = self._waiting.get(message.cpu)
        block = waiting[-1] if waiting else None
        if (
            block is None
            or block.stages is not None
            or (block.samples.first, block.samples.count) != (message.first, message.count)
        ):
            raise WireError("stages of no block of samples")
        block.stages = message

    def close(self) -> None:
        """Pass on what waits."""
        for cpu, waiting in self._waiting.items():
            self._pass_on(self.accountings[cpu], waiting)
        self._waiting.clear()

    def _pass_on(self, accounting: CpuAccounting, blocks: Sequence[_Block]) -> None:
        for unusual, run in groupby(blocks, lambda block: has_overruns(block.samples)):
            together = list(run)
            if unusual or not self._pass_together(accounting, together):
                for block in together:
                    self._pass_alone(accounting, block)

    def _pass_together(self, accounting: CpuAccounting, blocks: Sequence[_Block]) -> bool:
        """Pass on blocks in which nothing is unusual; return False where something is."""
        samples = [block.samples for block in blocks]
        staged = [block.stages for block in blocks if block.stages is not None]
        if samples[0].first < accounting.next:
            return False
        rows = decode_sample_blocks(samples, accounting.planned)
        if rows is None:
            return False
        stages = None
        if staged:
            stages = decode_block_rows(
                [block.data for block in staged], [block.count for block in staged], "stages"
            )
            if stages is None:
                return False
            if len(staged) < len(blocks):
                counts = [block.samples.count for block in blocks]
                has = np.repeat([block.stages is not None for block in blocks], counts)
                whole = np.full((has.size, STAGE_COLUMNS), NOT_SEEN, np.int64)
                whole[has] = stages
                stages = whole
        accounting.add(rows)
        self.digest.add(samples[0].cpu, rows)
        self.sink(samples[0].cpu, rows, stages, None)
        return True

    def _pass_alone(self, accounting: CpuAccounting, block: _Block) -> None:
        """Pass on a block unless it, or its stages, cannot be understood."""
        if block.samples.first < accounting.next:
            # It would be unpacked for nothing, and may say that millions were overrun.
            accounting.refused += 1
            self.malformed += block.stages is not None
            return
        try:
            rows = decode_samples(block.samples, accounting.started.interval_ns, accounting.planned)
            self._overruns += int(rows.overrun.sum())
            if self._overruns > MOST_OVERRUNS:
                raise WireError(f"more than {MOST_OVERRUNS} overruns in a run")
        except WireError:
            self.malformed += 1 + (block.stages is not None)
            return
        if not accounting.add(rows):
            self.malformed += block.stages is not None
            return
        self.digest.add(block.samples.cpu, rows)
        stages: Stages | None = None
        if block.stages is not None:
            try:
                stages = decode_stages(block.stages)
            except WireError:
                self.malformed += 1
        self.sink(block.samples.cpu, rows, stages, None)
