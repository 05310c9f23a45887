"""Blocks of samples: how activations travel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.wire.blocks import INT64_MAX, decode_block_rows, decode_numbers, decode_rows
from whylate.wire.codec import WireError
from whylate.wire.constants import LONGEST_INTERVAL_NS
from whylate.wire.messages import Samples

#: Rows that a block may become: 3.5 minutes of overruns at 50 µs, and about 200 MB to make them.
MAX_ROWS = 1 << 22


@dataclass(frozen=True, slots=True)
class Rows:
    """Activations of one CPU in order: those seen and the overruns that followed them.

    activation: int64, shape (n,), strictly increasing. latency_ns: int64, shape (n,); for an
    overrun its lower bound. overrun: bool, shape (n,).
    """

    activation: NDArray[np.int64]
    latency_ns: NDArray[np.int64]
    overrun: NDArray[np.bool_]


def decode_samples(block: Samples, interval_ns: int, end: int) -> Rows:
    """Return the rows of a block.

    end: the number of activations that can exist. What lies beyond it is refused with
    WireError, and so are more than MAX_ROWS rows: a hostile count cannot ask for memory
    without limit.
    """
    if not 0 < interval_ns <= LONGEST_INTERVAL_NS:
        raise WireError(f"samples cannot be {interval_ns} ns apart")
    end = min(end, INT64_MAX)
    numbers = decode_numbers(block.data)
    count = block.count
    if numbers.size < count or (numbers.size - count) % 2:
        raise WireError(f"a block of {count} samples holds {numbers.size} numbers")
    latency_ns = decode_rows(numbers[:count], count, "samples")[:, 0]
    positions = numbers[count::2]
    overruns = numbers[count + 1 :: 2]
    if block.first + count > end or (overruns.size and int(overruns.max()) > end):
        raise WireError(f"a block of samples goes beyond activation {end}")
    followers = np.zeros(count, np.int64)
    if positions.size:
        if int(positions.max()) >= count or (np.diff(positions.view(np.int64)) <= 0).any():
            raise WireError("a block of samples places overruns outside itself")
        followers[positions.view(np.int64)] = overruns.view(np.int64)
        late = sum(overruns.tolist())
        if block.first + count + late > end:
            raise WireError(f"a block of samples goes beyond activation {end}")
        if count + late > MAX_ROWS:
            raise WireError(f"a block of samples tells of a stall of {late} activations")
    return _with_overruns(block.first, latency_ns, followers, interval_ns)


def _with_overruns(
    first: int, latency_ns: NDArray[np.int64], followers: NDArray[np.int64], interval_ns: int
) -> Rows:
    """Put the overruns after what delayed them: the k-th was late by at least L − k·interval."""
    rows = 1 + followers
    total = int(rows.sum())
    starts = np.cumsum(rows) - rows
    k = np.arange(total) - np.repeat(starts, rows)
    return Rows(
        activation=first + np.arange(total, dtype=np.int64),
        latency_ns=np.repeat(latency_ns, rows) - k * interval_ns,
        overrun=k > 0,
    )


def decode_sample_blocks(
    first: NDArray[np.int64],
    count: NDArray[np.int64],
    raw: NDArray[np.uint8],
    edges: NDArray[np.int64],
    end: int,
) -> Rows | None:
    """Return the rows of consecutive blocks of a CPU, as decode_samples() has those of each.

    first, count: of each block; raw: their data, and edges: where that of each ends; all int64,
    shape (blocks,). None where they are not all without overruns, in order, and below end: then
    each has to be looked at alone.
    """
    end = min(end, INT64_MAX)
    if (first > end - count).any() or (first[1:] < (first + count)[:-1]).any():
        return None
    latency_ns = decode_block_rows(raw, edges, count, "samples")
    if latency_ns is None:
        return None
    before = np.cumsum(count) - count
    return Rows(
        activation=np.repeat(first - before, count) + np.arange(latency_ns.shape[0]),
        latency_ns=latency_ns[:, 0],
        overrun=np.zeros(latency_ns.shape[0], np.bool_),
    )
