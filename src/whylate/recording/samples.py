"""The samples of a run: what samples.parquet holds, one CPU at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from whylate.wire.constants import NOT_SEEN

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Rows that are looked at at a time: what is computed of them stays in a CPU's cache.
CHUNK_ROWS = 1 << 18


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


Stage = Literal["interrupt", "thread"]


class Activations(Protocol):
    """The activations of one CPU, in memory or on disk, in the order in which they were due.

    All rows are read in order, some at a time: `chunks` and `stage_chunks` cut them alike.
    """

    @property
    def cpu(self) -> int:
        """Its number."""

    @property
    def start_ns(self) -> int:
        """When the CPU was first watched."""

    @property
    def interval_ns(self) -> int:
        """The period; 0 of a program's activations."""

    @property
    def size(self) -> int:
        """Activations; dropped ones are not among them."""

    @property
    def overruns(self) -> int:
        """How many of them are overruns."""

    @property
    def watched_ns(self) -> int:
        """The time that the activations stand for, ns: what was dropped is not in it."""

    @property
    def per_s(self) -> float:
        """Activations that come each second; 0 where there were none."""

    @property
    def staged(self) -> bool:
        """Whether a stage of any activation was recorded."""

    def chunks(self, first: int = 0, end: int | None = None) -> Iterator[tuple[Int64s, Bools]]:
        """Yield latencies of rows first to end - 1, int64 ns, and whether each is an overrun."""

    def stage_chunks(
        self, stage: Stage, first: int = 0, end: int | None = None
    ) -> Iterator[NDArray[np.int32]]:
        """Yield when rows first to end - 1 reached a stage, int32 ns since due, or NOT_SEEN."""

    def thread_chunks(self) -> Iterator[NDArray[np.int32]]:
        """Yield whose a program's activations are, int32 pids; of another workload nothing."""

    def exceeding(self, limit_ns: int, *, overruns: bool = False) -> tuple[Int64s, Int64s, Bools]:
        """Return the rows above a limit, int64, sorted; their latencies; which are overruns.

        overruns: every overrun is among them, however short its bound.
        """

    def activation_of(self, rows: Int64s) -> Int64s:
        """Return the numbers of the activations in these rows, int64."""

    def due_of(self, rows: Int64s) -> Int64s:
        """Return when the activations in these rows were due, int64 ns."""

    def rows_due(self, times_ns: Int64s) -> Int64s:
        """Return the first row that was due at or after each time, int64; n where none was."""

    def of_thread(self, pid: int) -> Activations:
        """Return the activations of one thread of a program; all of another workload's."""


@dataclass(frozen=True)
class NumberedRows:
    """Activations of one CPU in the order of their numbers.

    number: int64, shape (n,), increasing. due_ns: int64, since the CPU was first watched.
    latency_ns: int64. overrun: bool.
    """

    number: Int64s
    due_ns: Int64s
    latency_ns: Int64s
    overrun: Bools

    def cut(self, first: int, end: int | None) -> NumberedRows:
        """Return rows first to end - 1."""
        rows = slice(first, end)
        return NumberedRows(
            self.number[rows], self.due_ns[rows], self.latency_ns[rows], self.overrun[rows]
        )


class Numbered(Protocol):
    """The activations of one CPU, in memory or on disk, that are read by their numbers."""

    @property
    def cpu(self) -> int:
        """Its number."""

    @property
    def size(self) -> int:
        """Activations."""

    def numbered(self) -> Iterator[NumberedRows]:
        """Yield all rows in the order of their numbers, some at a time."""


@dataclass(frozen=True)
class CpuStages:
    """When each activation of a CPU reached a stage, as the flight recorder observed it.

    timer_ns:    int32, shape (n,); from due to when the interrupt that woke the thread began.
    switched_ns: int32, shape (n,); from due to when the CPU was given to the thread.
    Both are NOT_SEEN (whylate.wire.events) where it was not observed, as for every overrun.
    """

    timer_ns: NDArray[np.int32]
    switched_ns: NDArray[np.int32]

    def named(self, stage: Stage) -> NDArray[np.int32]:
        """Return a stage by its name."""
        return self.timer_ns if stage == "interrupt" else self.switched_ns


@dataclass(frozen=True)
class CpuSamples:
    """Activations of one CPU in memory, in the order in which they were due.

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
    def size(self) -> int:
        """Activations."""
        return self.latency_ns.size

    @property
    def overruns(self) -> int:
        """How many of them are overruns."""
        return int(self.overrun.sum())

    @property
    def staged(self) -> bool:
        """Whether a stage of any activation was recorded."""
        return self.stages is not None

    def chunks(self, first: int = 0, end: int | None = None) -> Iterator[tuple[Int64s, Bools]]:
        """Yield latencies and overruns of rows first to end - 1."""
        for rows in _slices(first, self.size if end is None else end):
            yield self.latency_ns[rows], self.overrun[rows]

    def stage_chunks(
        self, stage: Stage, first: int = 0, end: int | None = None
    ) -> Iterator[NDArray[np.int32]]:
        """Yield when rows first to end - 1 reached a stage."""
        for rows in _slices(first, self.size if end is None else end):
            if self.stages is None:
                yield np.full(rows.stop - rows.start, NOT_SEEN, np.int32)
            else:
                yield self.stages.named(stage)[rows]

    def thread_chunks(self) -> Iterator[NDArray[np.int32]]:
        """Yield whose a program's activations are."""
        if self.woken is not None:
            for rows in _slices(0, self.size):
                yield self.woken.pid[rows]

    def numbered(self) -> Iterator[NumberedRows]:
        """Yield all rows in the order of their numbers."""
        order = np.argsort(self.activation, kind="stable")
        for rows in _slices(0, self.size):
            these = order[rows]
            yield NumberedRows(
                self.activation[these],
                self.due_of(these) - self.start_ns,
                self.latency_ns[these],
                self.overrun[these],
            )

    def exceeding(self, limit_ns: int, *, overruns: bool = False) -> tuple[Int64s, Int64s, Bools]:
        """Return rows above a limit, and all overruns if asked for."""
        above = self.latency_ns > limit_ns
        rows = np.flatnonzero(above | self.overrun if overruns else above)
        return rows, self.latency_ns[rows], self.overrun[rows]

    def activation_of(self, rows: Int64s) -> Int64s:
        """Return the numbers of the activations in these rows, int64."""
        return self.activation[rows]

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


def _slices(first: int, end: int) -> Iterator[slice]:
    """Cut rows first to end - 1 into chunks."""
    for at in range(first, end, CHUNK_ROWS):
        yield slice(at, min(at + CHUNK_ROWS, end))
