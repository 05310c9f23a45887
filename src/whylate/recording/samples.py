"""The samples of a run in memory: what samples.parquet holds, one CPU at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class CpuStages:
    """When the activations of one CPU came how far: what the flight recorder saw of each.

    timer_ns:    int32, shape (n,); from due to when the interrupt that woke the thread began.
    switched_ns: int32, shape (n,); from due to when the CPU was given to the thread.
    Both are NOT_SEEN (whylate.wire.events) where nobody saw it, as for every overrun.
    """

    timer_ns: NDArray[np.int32]
    switched_ns: NDArray[np.int32]


@dataclass(frozen=True)
class CpuSamples:
    """Activations of one measuring thread, in order of activation.

    activation: int64, shape (n,), strictly increasing; dropped ones are absent.
    latency_ns: int64, shape (n,); for an overrun the lower bound wake - due.
    overrun:    bool, shape (n,); True where latency_ns is only a lower bound.
    stages:     of the same rows; None where no stage of any activation was recorded.
    Activation i was due at start_ns + i * interval_ns on the board's CLOCK_MONOTONIC.
    """

    cpu: int
    start_ns: int
    interval_ns: int
    activation: NDArray[np.int64]
    latency_ns: NDArray[np.int64]
    overrun: NDArray[np.bool_]
    stages: CpuStages | None = None

    @property
    def due_ns(self) -> NDArray[np.int64]:
        """When each activation was due, int64 ns, shape (n,)."""
        return self.start_ns + self.activation * self.interval_ns
