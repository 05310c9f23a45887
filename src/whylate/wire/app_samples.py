"""Blocks of activations of a program's threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.wire.blocks import INT64_MAX, decode_numbers, decode_rows
from whylate.wire.codec import WireError
from whylate.wire.constants import HIGHEST_PID, RecorderOrigin
from whylate.wire.messages import Samples, SampleThreads
from whylate.wire.samples import Rows

#: What made a thread due, by the number that the probe sends.
ORIGINS = ("?", *(origin.name.lower() for origin in RecorderOrigin))
#: What is known of an execution beside its duration: the CPU on which it began, its times in parts,
#: ns, its page faults, and how often it was seen (block executions of schema/wire.toml).
PARTS = (
    "begin_cpu", "interrupted_ns", "preempted_ns", "slept_ns", "lock_ns", "faults", "fault_ns",
    "steal_ns", "samples", "spins",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Threads:
    """Whose the activations of a block are, and what made them due.

    pid: int32, shape (n,). due_ns: int64, shape (n,), in any order. origin: int8, shape (n,), an
    index into ORIGINS. parts: of executions, int64, shape (n, len(PARTS)). counts: of executions
    with counters, int64, shape (n, counters), negative where there is none.
    """

    pid: NDArray[np.int32]
    due_ns: NDArray[np.int64]
    origin: NDArray[np.int8]
    parts: NDArray[np.int64] | None = None
    counts: NDArray[np.int64] | None = None

    def select(self, which: NDArray[np.bool_]) -> Threads:
        """Return those of some activations; which: shape (n,)."""
        return Threads(
            self.pid[which],
            self.due_ns[which],
            self.origin[which],
            None if self.parts is None else self.parts[which],
            None if self.counts is None else self.counts[which],
        )


def decode_app_samples(block: Samples) -> Rows:
    """Return the rows of a block, which tells of no overruns; raises WireError."""
    rows = decode_rows(decode_numbers(block.data), block.count, "samples")
    if block.first > INT64_MAX - block.count:
        raise WireError(f"a block begins with activation {block.first}")
    return Rows(
        activation=block.first + np.arange(block.count, dtype=np.int64),
        latency_ns=rows[:, 0],
        overrun=np.zeros(block.count, np.bool_),
    )


def decode_threads(block: SampleThreads, start_ns: int) -> Threads:
    """Return whose the activations of a block are; start_ns: of their CPU.

    Raises WireError for data that is not just so many, and for what no thread of a board can be:
    without a pid, due at no time, or due to nothing that is known.
    """
    pid, since_ns, origin = decode_rows(decode_numbers(block.data), block.count, "threads").T
    due_ns = start_ns + since_ns
    if block.count and (pid.min() < 1 or pid.max() > HIGHEST_PID):
        raise WireError("an activation of no possible thread")
    if block.count and (origin.min() < 1 or origin.max() >= len(ORIGINS)):
        raise WireError("an activation due to nothing that is known")
    if (due_ns < 0).any():
        raise WireError("an activation that was due at no possible time")
    return Threads(pid.astype(np.int32), due_ns, origin.astype(np.int8))
