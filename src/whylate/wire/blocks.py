"""Blocks of numbers: rows of columns that schema/wire.toml describes, as LEB128 numbers."""

from __future__ import annotations

from typing import Any

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
    raw: NDArray[np.uint8], edges: NDArray[np.int64], counts: NDArray[np.int64], block: str
) -> NDArray[Any] | None:
    """Return the rows of several blocks at once, each as decode_rows() has them, one after another.

    raw: their bytes, one block behind the other; edges: int64, shape (blocks,), where each ends;
    counts: int64, shape (blocks,), of their rows. Rows of short "maybe" numbers are int32.
    None where any block is not just its rows: then each has to be looked at alone.
    """
    encodings = BLOCKS[block]
    if (
        raw.size == 0
        or not counts.all()
        or not (numbers_in(raw, edges) == counts * len(encodings)).all()
    ):
        return None
    try:
        short = decode_short_numbers(raw)
        if short is not None and set(encodings) == {"maybe"}:
            return _maybe(short).reshape(-1, len(encodings))
        if short is not None and encodings == ("step",):
            joined = np.cumsum(_signed(short), dtype=np.int64)[:, np.newaxis]
        else:
            joined = decode_rows(decode_numbers(raw), int(counts.sum()), block)
    except WireError:
        return None
    first = np.cumsum(counts) - counts
    for column, encoding in enumerate(encodings):
        if encoding == "step":
            # Each block counts from zero.
            before = np.where(first > 0, joined[first - 1, column], 0)
            joined[:, column] -= np.repeat(before, counts)
    return joined


def decode_short_numbers(raw: NDArray[np.uint8]) -> NDArray[np.uint32] | None:
    """Return the LEB128 numbers in data, uint32; None where any has more than 4 bytes.

    As decode_numbers(), which see; the four bytes up to the end of each number are read as one
    word, whose septets are then moved together, pairs first. The last number is not cut.
    """
    ends = np.flatnonzero(raw < 0x80)
    # How far the bytes of the number before have to be shifted out of the word.
    spare = np.empty(ends.size, np.int64)
    spare[:1] = 3 - ends[:1]
    np.subtract(ends[:-1] + 4, ends[1:], out=spare[1:])
    if spare.min(initial=0) < 0:
        return None
    before = np.concatenate((np.zeros(3, np.uint8), raw))
    words = np.ndarray((raw.size,), "<u4", before.data, strides=(1,))
    numbers: NDArray[np.uint32] = words.take(ends)
    numbers >>= (spare << 3).astype(np.uint32)
    for low, high, step in ((0x007F007F, 0x7F007F00, 1), (0x3FFF, 0x3FFF0000, 2)):
        upper = numbers & np.uint32(high)
        upper >>= np.uint32(step)
        numbers &= np.uint32(low)
        numbers |= upper
    return numbers


def _maybe(numbers: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Return short "maybe" numbers, int32: NOT_SEEN, or what zigzag made unsigned."""
    values = _signed(numbers - np.uint32(1))
    values[numbers == 0] = NOT_SEEN
    return values


def _signed(zigzag: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Return the numbers that zigzag made unsigned, int32; the argument is used up."""
    values = (zigzag >> np.uint32(1)).view(np.int32)
    zigzag &= np.uint32(1)
    values ^= -zigzag.view(np.int32)
    return values


def numbers_in(raw: NDArray[np.uint8], edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many numbers end in each part of LEB128 data; -1 where one is cut by its end.

    edges: int64, shape (parts,): where each part ends.
    """
    if not raw.size:
        return np.zeros(edges.size, np.int64)
    last = raw[np.maximum(edges - 1, 0)] < 0x80
    count = np.diff(np.searchsorted(np.flatnonzero(raw < 0x80), edges), prepend=0)
    return np.where(last, count, -1)
