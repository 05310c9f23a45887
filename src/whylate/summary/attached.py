"""The activations of a CPU of which the recorder kept stages: those while it was attached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.recording.manifest import Manifest
from whylate.recording.samples import Activations, Stage
from whylate.stats.arrays import Bools, Int64s


@dataclass(frozen=True)
class AttachedActivations:
    """Some rows of a CPU's activations as a series (whylate.stats.run.cpu_series), with stages.

    first, end: int64, shape (k,): rows first[i] to end[i] - 1, ascending, are in it.
    """

    whole: Activations
    first: Int64s
    end: Int64s

    @property
    def cpu(self) -> int:
        """Its number."""
        return self.whole.cpu

    @property
    def _ends(self) -> Int64s:
        """Where each range ends in the rows of this series."""
        return np.cumsum(self.end - self.first)

    @property
    def size(self) -> int:
        """Activations."""
        return int((self.end - self.first).sum())

    @property
    def staged(self) -> bool:
        """Whether a stage of any activation was recorded."""
        return self.whole.staged

    @property
    def watched_ns(self) -> int:
        """Time that the activations stand for, ns."""
        return self.whole.watched_ns * self.size // max(self.whole.size, 1)

    @property
    def per_s(self) -> float:
        """Activations that come each second while it is attached."""
        return self.whole.per_s

    def _rows_of_whole(self, rows: Int64s) -> Int64s:
        ends = self._ends
        part = np.searchsorted(ends, rows, side="right")
        within = rows - (ends - (self.end - self.first))[part]
        of_whole: Int64s = self.first[part] + within
        return of_whole

    def due_of(self, rows: Int64s) -> Int64s:
        """Return when the activations in these rows were due, int64 ns."""
        return self.whole.due_of(self._rows_of_whole(rows))

    def rows_due(self, times_ns: Int64s) -> Int64s:
        """Return the first row that was due at or after each time, int64; n where none was."""
        row = self.whole.rows_due(times_ns)
        length = self.end - self.first
        inside = np.clip(row[..., None] - self.first, 0, length)
        due: Int64s = inside.sum(axis=-1)
        return due

    def _parts(self, first: int, end: int | None) -> Iterator[tuple[int, int]]:
        """Yield the rows of the whole that are rows first to end - 1 here."""
        last = self.size if end is None else end
        ends = self._ends.tolist()
        for start, stop, upto in zip(self.first.tolist(), self.end.tolist(), ends, strict=True):
            begins = upto - (stop - start)
            low, high = max(first, begins), min(last, upto)
            if low < high:
                yield start + low - begins, start + high - begins

    def chunks(self, first: int = 0, end: int | None = None) -> Iterator[tuple[Int64s, Bools]]:
        """Yield latencies of rows first to end - 1, int64 ns, and whether each is an overrun."""
        for low, high in self._parts(first, end):
            yield from self.whole.chunks(low, high)

    def stage_chunks(
        self, stage: Stage, first: int = 0, end: int | None = None
    ) -> Iterator[NDArray[np.int32]]:
        """Yield when rows first to end - 1 reached a stage, int32 ns since due, or NOT_SEEN."""
        for low, high in self._parts(first, end):
            yield from self.whole.stage_chunks(stage, low, high)


def attached_only(
    manifest: Manifest, series: Sequence[Activations]
) -> Sequence[Activations | AttachedActivations]:
    """Return the activations of each CPU that were due while the recorder was attached."""
    stretches = manifest.recorder.detached if manifest.recorder is not None else []
    if not stretches:
        return series
    begin_ns = np.array([stretch.begin_ns for stretch in stretches], np.int64)
    until_ns = np.array([stretch.until_ns for stretch in stretches], np.int64)
    kept = []
    for cpu in series:
        first = np.concatenate([np.zeros(1, np.int64), cpu.rows_due(until_ns)])
        end = np.concatenate([cpu.rows_due(begin_ns), np.array([cpu.size], np.int64)])
        there = end > first
        kept.append(AttachedActivations(cpu, first[there], end[there]))
    return kept
