"""The rows of the benchmark `memory`, from the messages of the probe."""

from __future__ import annotations

import msgspec

from whylate.recording.turns import Backing, Buffers
from whylate.recording.workloads.benchmarks.assembler import RepetitionAssembler, check_figures
from whylate.wire.messages import MemoryBacking, MemoryRepetition


class MemoryAssembler(RepetitionAssembler):
    """Builds rows of buffers, and reports of the pages behind them."""

    row = MemoryRepetition
    details = (MemoryBacking,)

    def add_detail(self, message: MemoryBacking) -> None:
        """Add the pages behind a buffer, before or after the repetitions of a turn."""
        sizes = (message.pages, message.present, message.huge_bytes, message.hugetlb_bytes)
        check_figures(*sizes, message.frames)
        backing = Backing(
            pages=message.pages,
            present=message.present,
            frames=None if message.error else message.frames,
            huge_bytes=message.huge_bytes,
            hugetlb_bytes=message.hugetlb_bytes,
        )
        when = "after" if message.after else "before"
        buffers = getattr(self.reported(message.turn), when) or Buffers()
        which = "target" if message.target else "source"
        self.report(message.turn, **{when: msgspec.structs.replace(buffers, **{which: backing})})
