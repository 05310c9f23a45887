"""The samples of one CPU on disk, where they would not fit memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from whylate.recording.samples import CHUNK_ROWS, Bools, Int64s, NumberedRows, Stage
from whylate.recording.store.column_file import Column
from whylate.recording.store.kept_rows import KeptRows
from whylate.wire.constants import NOT_SEEN


@dataclass(frozen=True)
class Numbers:
    """The numbers of activations in order, of which few are missing: where a stretch begins.

    rows, first: int64, shape (stretches,): from row rows[k] on they are first[k], first[k] + 1, ...
    """

    rows: Int64s
    first: Int64s
    size: int

    def numbers_at(self, rows: Int64s) -> Int64s:
        """Return the numbers in these rows, int64."""
        stretch = np.searchsorted(self.rows, rows, side="right") - 1
        return self.first[stretch] + (rows - self.rows[stretch])

    def rows_from(self, numbers: Int64s) -> Int64s:
        """Return the first row whose number is at least each of these; size where none is."""
        stretch = np.searchsorted(self.first, numbers, side="right") - 1
        ends = np.append(self.rows[1:], self.size)
        inside = np.maximum(stretch, 0)
        row = np.minimum(self.rows[inside] + (numbers - self.first[inside]), ends[inside])
        return np.where(stretch < 0, 0, row).astype(np.int64)


@dataclass(frozen=True)
class StoredSamples:
    """Activations of one CPU of a periodic workload (whylate.recording.samples.Activations).

    stages: of the same rows, by name; none where no stage of any activation was recorded.
    """

    cpu: int
    start_ns: int
    interval_ns: int
    numbers: Numbers
    overruns: int
    latency: Column
    overrun: Column
    stages: dict[Stage, Column]
    _kept: KeptRows = field(default_factory=KeptRows, repr=False)

    @property
    def size(self) -> int:
        """Activations."""
        return self.numbers.size

    @property
    def staged(self) -> bool:
        """Whether a stage of any activation was recorded."""
        return bool(self.stages)

    @property
    def watched_ns(self) -> int:
        """The time that the activations stand for, ns."""
        return self.size * self.interval_ns

    @property
    def per_s(self) -> float:
        """Activations that come each second."""
        return 1e9 / self.interval_ns

    def chunks(self, first: int = 0, end: int | None = None) -> Iterator[tuple[Int64s, Bools]]:
        """Yield latencies and overruns of rows first to end - 1."""
        for low, high in cut_rows(first, self.size if end is None else end):
            latency_ns = self.latency.read(low, high).astype(np.int64, copy=False)
            none = np.zeros(high - low, np.bool_)
            yield latency_ns, self.overrun.read(low, high) if self.overruns else none

    def stage_chunks(
        self, stage: Stage, first: int = 0, end: int | None = None
    ) -> Iterator[NDArray[np.int32]]:
        """Yield when rows first to end - 1 reached a stage."""
        for low, high in cut_rows(first, self.size if end is None else end):
            if stage in self.stages:
                yield self.stages[stage].read(low, high)
            else:
                yield np.full(high - low, NOT_SEEN, np.int32)

    def thread_chunks(self) -> Iterator[NDArray[np.int32]]:
        """Yield nothing: no program was watched."""
        yield from ()

    def numbered(self) -> Iterator[NumberedRows]:
        """Yield all rows in the order of their numbers."""
        first = 0
        for latency_ns, overrun in self.chunks():
            number = self.numbers.numbers_at(np.arange(first, first + latency_ns.size))
            yield NumberedRows(number, number * self.interval_ns, latency_ns, overrun)
            first += latency_ns.size

    def exceeding(self, limit_ns: int, *, overruns: bool = False) -> tuple[Int64s, Int64s, Bools]:
        """Return rows above a limit, and all overruns if asked for."""
        return self._kept.exceeding(self, limit_ns, overruns=overruns)

    def activation_of(self, rows: Int64s) -> Int64s:
        """Return the numbers of the activations in these rows, int64."""
        return self.numbers.numbers_at(rows)

    def due_of(self, rows: Int64s) -> Int64s:
        """Return when the activations in these rows were due, int64 ns."""
        return self.start_ns + self.numbers.numbers_at(rows) * self.interval_ns

    def rows_due(self, times_ns: Int64s) -> Int64s:
        """Return the first row that was due at or after each time, int64; n where none was."""
        return self.numbers.rows_from(-((self.start_ns - times_ns) // self.interval_ns))

    def of_thread(self, pid: int) -> StoredSamples:
        """Return all: no program was watched."""
        del pid
        return self


def cut_rows(first: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut rows first to end - 1 into chunks."""
    for at in range(first, end, CHUNK_ROWS):
        yield at, min(at + CHUNK_ROWS, end)
