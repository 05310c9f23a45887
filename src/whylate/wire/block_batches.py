"""The messages `samples` and `sample_stages`, many of them side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.wire.blocks import INT64_MAX
from whylate.wire.constants import HIGHEST_CPU
from whylate.wire.frame_batches import FrameBatch
from whylate.wire.messages import Samples, SampleStages

Int64s = NDArray[np.int64]

BLOCK_KINDS = (Samples.KIND, SampleStages.KIND)
#: Both have the same fields (schema/wire.toml): behind the last is the data, with its length.
_FIELDS = np.dtype([("cpu", "<u2"), ("count", "<u2"), ("first", "<u8"), ("size", "<u2")])


@dataclass(frozen=True, slots=True)
class BlockBatch:
    """Blocks of samples and of stages, in the order in which they came.

    raw: what their data is in. cpu, count, first, start, end: int64, shape (n,); the
    data of block k is raw[start[k]:end[k]]. is_stages: bool, shape (n,).
    """

    raw: bytes
    cpu: Int64s
    count: Int64s
    first: Int64s
    start: Int64s
    end: Int64s
    is_stages: NDArray[np.bool_]

    def data(self, index: int) -> bytes:
        """Return the data of a block."""
        return self.raw[self.start[index] : self.end[index]]

    def of_cpu(self, cpu: int) -> BlockBatch:
        """Return those of one CPU."""
        own = self.cpu == cpu
        columns = (self.cpu, self.count, self.first, self.start, self.end, self.is_stages)
        return BlockBatch(self.raw, *(column[own] for column in columns))

    def is_in_order(self, before: tuple[int, int] | None) -> bool:
        """Whether all stages follow the block that they are of. The blocks are of one CPU.

        before: `first` and `count` of a block that the first stages may be of.
        """
        stages = np.flatnonzero(self.is_stages)
        if stages.size and stages[0] == 0:
            if before != (self.first[0], self.count[0]):
                return False
            stages = stages[1:]
        return bool(
            not self.is_stages[stages - 1].any()
            and (self.first[stages] == self.first[stages - 1]).all()
            and (self.count[stages] == self.count[stages - 1]).all()
        )


def unpack_blocks(frames: FrameBatch) -> BlockBatch | None:
    """Return the blocks in frames of these two kinds; None where any is malformed."""
    size = frames.end - frames.start
    if (size < _FIELDS.itemsize).any():
        return None
    fields = frames.head(_FIELDS.itemsize).view(_FIELDS)[:, 0]
    if (
        (fields["size"] != size - _FIELDS.itemsize).any()
        or (fields["cpu"] > HIGHEST_CPU).any()
        or (fields["first"] > INT64_MAX).any()
    ):
        return None
    return BlockBatch(
        raw=frames.data,
        cpu=fields["cpu"].astype(np.int64),
        count=fields["count"].astype(np.int64),
        first=fields["first"].astype(np.int64),
        start=frames.start + _FIELDS.itemsize,
        end=frames.end,
        is_stages=frames.kind == SampleStages.KIND,
    )
