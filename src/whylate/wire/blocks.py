"""Blocks of numbers: rows of columns that schema/wire.toml describes, as LEB128 numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whylate.wire.codec import WireError
from whylate.wire.constants import BLOCKS, LATEST_NS, NOT_SEEN

#: What indices and times are kept in.
INT64_MAX = (1 << 63) - 1


def decode_numbers(data: bytes | NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the LEB128 numbers in data, uint64.

    Raises WireError where the last one is cut, or one has more than 64 bits.
    """
    raw = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
    if raw.size == 0:
        return np.empty(0, np.uint64)
    ends = np.flatnonzero(raw < 0x80)
    if ends.size == 0 or ends[-1] != raw.size - 1:
        raise WireError("a block ends inside a number")
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    longest = int(lengths.max())
    if longest > 10 or (longest == 10 and (raw[ends[lengths == 10]] > 1).any()):
        raise WireError("a block holds a number of more than 64 bits")
    numbers = (raw[starts] & 0x7F).astype(np.uint64)
    longer = np.flatnonzero(lengths > 1)
    for septet in range(1, longest):
        longer = longer[lengths[longer] > septet]
        part = (raw[starts[longer] + septet] & 0x7F).astype(np.uint64)
        numbers[longer] |= part << np.uint64(7 * septet)
    return numbers


def signed(zigzag: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the numbers that zigzag made unsigned, int64."""
    return (zigzag >> np.uint64(1)).view(np.int64) ^ -(zigzag & np.uint64(1)).view(np.int64)


def decode_rows(numbers: NDArray[np.uint64], count: int, block: str) -> NDArray[np.int64]:
    """Return the rows of a block, int64, shape (count, columns); NOT_SEEN in a "maybe" column.

    Sums beyond 64 bits wrap, as the probe's differences do. Raises WireError for another number of
    numbers, and for one beyond LATEST_NS: no time and no number of a board is.
    """
    encodings = BLOCKS[block]
    if numbers.size != count * len(encodings):
        raise WireError(f"a block of {count} {block} holds {numbers.size} numbers")
    rows = np.empty((count, len(encodings)), np.int64)
    for column, encoding in enumerate(encodings):
        values = np.ascontiguousarray(numbers[column :: len(encodings)])
        if encoding == "step":
            rows[:, column] = np.cumsum(signed(values), dtype=np.int64)
        elif encoding == "maybe":
            seen = signed(values - np.uint64(1))
            rows[:, column] = np.where(values == 0, NOT_SEEN, seen)
        else:
            rows[:, column] = values.view(np.int64)
    if count and (int(rows.max()) > LATEST_NS or int(rows.min()) < -LATEST_NS):
        raise WireError(f"a block of {block} holds an impossible time")
    return rows


def decode_block_rows(
    data: Sequence[bytes], counts: Sequence[int], block: str
) -> NDArray[np.int64] | None:
    """Return the rows of several blocks at once, each as decode_rows() has them, one after another.

    None where any block is not just its rows: then each has to be looked at alone.
    """
    raw = np.frombuffer(b"".join(data), np.uint8)
    edges = np.cumsum([len(part) for part in data])
    rows = np.array(counts, np.int64)
    if (
        raw.size == 0
        or not rows.all()
        or not (numbers_in(raw, edges) == rows * _width(block)).all()
    ):
        return None
    try:
        numbers = decode_numbers(raw)
    except WireError:
        return None
    joined = decode_rows(numbers, int(rows.sum()), block)
    first = np.cumsum(rows) - rows
    for column, encoding in enumerate(BLOCKS[block]):
        if encoding == "step":
            # Each block counts from zero.
            before = np.where(first > 0, joined[first - 1, column], 0)
            joined[:, column] -= np.repeat(before, rows)
    return joined


def numbers_in(raw: NDArray[np.uint8], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many numbers end in each part of LEB128 data; -1 where one is cut by its end.

    edges: int64, shape (parts,): where each part ends.
    """
    last = raw[np.maximum(edges - 1, 0)] < 0x80
    count = np.diff(np.searchsorted(np.flatnonzero(raw < 0x80), edges), prepend=0)
    return np.where(last, count, -1)


def _width(block: str) -> int:
    return len(BLOCKS[block])
