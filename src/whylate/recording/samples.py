"""The samples of a run in memory: what samples.parquet holds, one CPU at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Woken:
    """Columns of the samples of a program's threads, which have no schedule.

    due_ns: int64, shape (n,), not decreasing; on the board's CLOCK_MONOTONIC.
    pid:    int32, shape (n,): the thread.
    origin: int8, shape (n,): what made it due, an index into `whylate.wire.app_samples.ORIGINS`.
    end_ns: until then the CPU was watched.
    """

    due_ns: Int64s
    pid: NDArray[np.int32]
    origin: NDArray[np.int8]
    end_ns: int


@dataclass(frozen=True)
class CpuStages:
    """When each activation of a CPU reached a stage, as the flight recorder observed it.

    timer_ns:    int32, shape (n,); from due to when the interrupt that woke the thread began.
    switched_ns: int32, shape (n,); from due to when the CPU was given to the thread.
    Both are NOT_SEEN (whylate.wire.events) where it was not observed, as for every overrun.
    """

    timer_ns: NDArray[np.int32]
    switched_ns: NDArray[np.int32]


@dataclass(frozen=True)
class CpuSamples:
    """Activations of one CPU, in the order in which they were due.

    activation: int64, shape (n,), each once; dropped ones are absent.
    latency_ns: int64, shape (n,); for an overrun the lower bound wake - due.
    overrun:    bool, shape (n,); True where latency_ns is only a lower bound.
    woken:      None for the wakeup workload: there `activation` is strictly increasing, and
                activation i was due at start_ns + i * interval_ns on the board's CLOCK_MONOTONIC.
                The activations of a program have no period: interval_ns is 0.
    stages:     of the same rows; None where no stage of any activation was recorded.
    """

    cpu: int
    start_ns: int
    interval_ns: int
    activation: Int64s
    latency_ns: Int64s
    overrun: NDArray[np.bool_]
    woken: Woken | None = None
    stages: CpuStages | None = None

    @property
    def due_ns(self) -> Int64s:
        """When each activation was due, int64 ns, shape (n,)."""
        if self.woken is not None:
            return self.woken.due_ns
        return self.start_ns + self.activation * self.interval_ns

    def due_of(self, rows: Int64s) -> Int64s:
        """Return when the activations in these rows were due, int64 ns."""
        if self.woken is not None:
            return self.woken.due_ns[rows]
        return self.start_ns + self.activation[rows] * self.interval_ns

    def rows_due(self, times_ns: Int64s) -> Int64s:
        """Return the first row that was due at or after each time, int64; n where none was."""
        if self.woken is not None:
            row = np.searchsorted(self.woken.due_ns, times_ns)
        else:
            first = -((self.start_ns - times_ns) // self.interval_ns)
            row = np.searchsorted(self.activation, first)
        return row.astype(np.int64)

    @property
    def watched_ns(self) -> int:
        """The time that the activations stand for, ns: what was dropped is not in it."""
        if self.woken is not None:
            return max(0, self.woken.end_ns - self.start_ns)
        return self.latency_ns.size * self.interval_ns

    @property
    def per_s(self) -> float:
        """Activations that come each second; 0 where there were none."""
        if self.woken is None:
            return 1e9 / self.interval_ns
        return self.latency_ns.size * 1e9 / max(self.watched_ns, 1)

    def of_thread(self, pid: int) -> CpuSamples:
        """Return the activations of one thread of a program; all of another workload's."""
        if self.woken is None:
            return self
        own = self.woken.pid == pid
        return replace(
            self,
            activation=self.activation[own],
            latency_ns=self.latency_ns[own],
            overrun=self.overrun[own],
            stages=self.stages
            and CpuStages(self.stages.timer_ns[own], self.stages.switched_ns[own]),
            woken=replace(
                self.woken,
                due_ns=self.woken.due_ns[own],
                pid=self.woken.pid[own],
                origin=self.woken.origin[own],
            ),
        )
