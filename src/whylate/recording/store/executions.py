"""Reading the executions of a section: their durations, and what their threads did meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.errors import RecordingError
from whylate.recording.store.parquet import parquet_errors
from whylate.recording.store.samples import count_column
from whylate.wire.app_samples import PARTS
from whylate.wire.executions import NO_COUNT

_COLUMNS = ("cpu", "activation", "due_ns", "latency_ns", "pid", *PARTS)
_BATCH_ROWS = 1 << 17
#: More than these are not held: what is said of them is of those that were drawn.
MOST_ROWS = 1 << 20


@dataclass(frozen=True)
class Executions:
    """Some executions, in the order of the file.

    cpu, number, began_ns, duration_ns, pid: int64, shape (n,): the CPU on which it ended, its
    number there, when it began, how long it took, its thread. parts: int64, (n, len(PARTS)).
    counts: int64, (n, counters), NO_COUNT where there is none.
    """

    cpu: NDArray[np.int64]
    number: NDArray[np.int64]
    began_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    pid: NDArray[np.int64]
    parts: NDArray[np.int64]
    counts: NDArray[np.int64]

    def part(self, name: str) -> NDArray[np.int64]:
        """Return a column of the parts by its name."""
        column: NDArray[np.int64] = self.parts[:, PARTS.index(name)]
        return column


@dataclass(frozen=True)
class ExecutionFile:
    """The executions of a recording on disk. counters: events that were counted of each.

    longer: the file of those that were not drawn, and are kept because they took long; None: none
    were to be kept. treated: the file of treated executions of an experiment, beside those of the
    placebo; None: it is none.
    """

    path: Path
    counters: tuple[str, ...] = ()
    longer: Path | None = None
    treated: Path | None = None

    def arms(self, seed: int) -> tuple[Executions, Executions]:
        """Return the executions of the placebo and the treated ones, at most MOST_ROWS of each.

        Of more as many are drawn at random. Raises ValueError of a recording without an experiment,
        and RecordingError.
        """
        if self.treated is None:
            raise ValueError("a recording without an experiment has no arms")
        files = (self, ExecutionFile(self.treated, self.counters))
        placebo, treated = (file.split(np.iinfo(np.int64).max, seed)[1] for file in files)
        return placebo, treated

    def longest(self, most: int) -> tuple[Executions, NDArray[np.bool_], int]:
        """Return the longest executions of all that are kept, the longest first.

        Also which of them were drawn, bool, shape (n,), and how many in all were not. Raises
        RecordingError.
        """
        longest = np.empty((0, len(_COLUMNS) + len(self.counters)), np.int64)
        is_drawn = np.empty(0, np.bool_)
        apart = 0
        for path in (self.path, self.longer):
            for table in self._tables(path) if path is not None else ():
                apart += len(table) if path is not self.path else 0
                longest = np.concatenate((longest, table))
                is_drawn = np.append(is_drawn, np.full(len(table), path is self.path))
                order = np.argsort(-longest[:, 3], kind="stable")[:most]
                longest, is_drawn = longest[order], is_drawn[order]
        return _executions([longest], len(self.counters)), is_drawn, apart

    def split(self, limit_ns: int, seed: int) -> tuple[Executions, Executions, int]:
        """Return the executions that took longer than a limit, the others, and how many of those.

        Of more than MOST_ROWS others as many are drawn at random. Raises RecordingError, as for
        more than MOST_ROWS longer ones.
        """
        longer: list[NDArray[np.int64]] = []
        others: list[NDArray[np.int64]] = []
        count = kept = 0
        rng = np.random.default_rng(seed)
        share = 1.0
        for table in self._tables(self.path):
            long = table[:, 3] > limit_ns
            longer.append(table[long])
            rest = table[~long]
            count += len(rest)
            rest = rest[rng.random(len(rest)) < share]
            others.append(rest)
            kept += len(rest)
            while kept > MOST_ROWS:
                # Each that is kept so far is kept with a probability of one half.
                share /= 2
                halved = np.concatenate(others)
                halved = halved[rng.random(len(halved)) < 0.5]
                others, kept = [halved], len(halved)
            if sum(map(len, longer)) > MOST_ROWS:
                raise RecordingError(
                    f"{self.path} has more than {MOST_ROWS} executions above {limit_ns} ns"
                )
        width = len(self.counters)
        return _executions(longer, width), _executions(others, width), count

    def _tables(self, path: Path) -> Iterator[NDArray[np.int64]]:
        """Yield rows of _COLUMNS and of counts, int64, some at a time; raises RecordingError."""
        import pyarrow.parquet as pq

        with (
            parquet_errors(f"{path} is not a Parquet file that can be read"),
            pq.ParquetFile(path, pre_buffer=False) as file,
        ):
            columns = [*_COLUMNS, *map(count_column, self.counters)]
            if not set(columns) <= set(file.schema_arrow.names):
                raise RecordingError(
                    f"{path} lacks columns of a section: it was changed after the recording"
                )
            for batch in file.iter_batches(_BATCH_ROWS, columns=columns):
                yield np.column_stack([_column(batch, name) for name in columns])


def _column(batch: Any, name: str) -> NDArray[np.int64]:
    column = batch.column(name)
    if column.null_count:
        column = column.fill_null(NO_COUNT)
    array: NDArray[np.int64] = column.to_numpy(zero_copy_only=False).astype(np.int64)
    return array


def _executions(tables: list[NDArray[np.int64]], counters: int) -> Executions:
    width = len(_COLUMNS)
    table = np.concatenate(tables) if tables else np.empty((0, width + counters), np.int64)
    cpu, number, began_ns, duration_ns, pid = table[:, :5].T
    return Executions(cpu, number, began_ns, duration_ns, pid, table[:, 5:width], table[:, width:])
