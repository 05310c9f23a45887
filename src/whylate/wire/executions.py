"""Blocks of executions of a section, and of their durations in bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.wire.app_samples import Threads
from whylate.wire.blocks import INT64_MAX, decode_numbers, decode_rows
from whylate.wire.codec import WireError
from whylate.wire.constants import HIGHEST_CPU, HIGHEST_PID, CountState, ExecutionFlag
from whylate.wire.messages import ExecutionCounts, Executions
from whylate.wire.samples import Rows

#: Stands for a count that an execution does not have.
NO_COUNT = -1
_FLAGS = int(
    ExecutionFlag.DRAWN | ExecutionFlag.MOVED | ExecutionFlag.TREATED | ExecutionFlag.PLACEBO
)


@dataclass(frozen=True, slots=True)
class ExecutionRows:
    """Executions of a block. rows: as of activations, latency_ns is the duration.

    threads: the thread in which each ended, when it began, and its parts. flags: uint8, shape (n,),
    ExecutionFlag.
    """

    rows: Rows
    threads: Threads
    flags: NDArray[np.uint8]


def select_rows(rows: Rows, which: NDArray[np.bool_]) -> Rows:
    """Return some rows; which: shape (n,)."""
    return Rows(rows.activation[which], rows.latency_ns[which], rows.overrun[which])


def decode_executions(block: Executions, start_ns: int) -> ExecutionRows:
    """Return the executions of a block; start_ns: of their CPU.

    Raises WireError for data that is not just so many, and for what no board can have seen.
    """
    table = decode_rows(decode_numbers(block.data), block.count, "executions")
    begin_ns, duration_ns, pid, word = table[:, :4].T
    if block.first > INT64_MAX - block.count:
        raise WireError(f"a block begins with execution {block.first}")
    began_ns = start_ns + begin_ns
    begin_cpu, flags = word >> 8, word & 0xFF
    impossible = (
        (began_ns < 0)
        | (duration_ns > INT64_MAX - began_ns)
        | (pid > HIGHEST_PID)
        | (begin_cpu > HIGHEST_CPU)
        | (flags & ~_FLAGS != 0)
        | (table[:, 1:] < 0).any(axis=1)
    )
    if impossible.any():
        raise WireError("an execution that cannot have been")
    parts = np.column_stack((begin_cpu, table[:, 4:]))
    return ExecutionRows(
        rows=Rows(
            activation=block.first + np.arange(block.count, dtype=np.int64),
            latency_ns=duration_ns,
            overrun=np.zeros(block.count, np.bool_),
        ),
        threads=Threads(pid.astype(np.int32), began_ns, np.zeros(block.count, np.int8), parts),
        flags=flags.astype(np.uint8),
    )


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted of executions.

    values: int64, shape (n, counters), NO_COUNT throughout a row without counts. state: int64,
    shape (n,), CountState.
    """

    values: NDArray[np.int64]
    state: NDArray[np.int64]


def decode_counts(block: ExecutionCounts, counters: int) -> Counts:
    """Return the counts of a block of executions.

    counters: events that are counted. Raises WireError for data that is not just so many, for a
    count that cannot be, and for one that was not asked for.
    """
    table = decode_rows(decode_numbers(block.data), block.count, "execution_counts")
    state, values = table[:, 0], table[:, 1:]
    if (
        (table < 0).any()
        or (state > max(CountState)).any()
        or values[:, counters:].any()
        or values[state != CountState.OWN].any()
    ):
        raise WireError("counts that cannot be")
    own = (state == CountState.OWN)[:, np.newaxis]
    return Counts(np.where(own, values[:, :counters], NO_COUNT), state)
