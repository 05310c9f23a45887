"""samples.parquet: a row for each activation, in groups that are in order for each CPU.

Columns: cpu (uint16), activation (int64), latency_ns (int64), overrun (bool), and timer_ns,
waking_ns, switched_ns (int32, null where it was not seen). Activation i of a CPU was due at
start_ns + i * interval_ns (manifest.json). Where a program's threads were watched, the file has the
due times itself, in the columns due_ns (int64), pid (int32) and origin (string). An execution of a
section has its duration as latency_ns, the time when it began as due_ns, and beside them the
columns of whylate.wire.app_samples.PARTS (int64); and with counters a column count_NAME (int64) of
each event, null where the execution has no counts. Row groups follow each other in time; within one
the rows are sorted by CPU and activation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.store.parquet import make_schema, parquet_writer
from whylate.wire.app_samples import ORIGINS, PARTS, Threads
from whylate.wire.constants import NOT_SEEN
from whylate.wire.samples import Rows

Stages = NDArray[np.int64] | NDArray[np.int32]

NAME = "samples.parquet"
#: Executions that were not drawn, and are kept because they took long: no part of the sample.
NAME_OF_LONGER = "longer.parquet"
#: Executions of an experiment that are treated: the sample is the placebo's.
NAME_OF_TREATED = "treated.parquet"
#: Rows in memory before they are written.
GROUP_ROWS = 1 << 20
COLUMNS = ["cpu", "activation", "latency_ns", "overrun"]
#: When the interrupt that woke the thread began, when it was woken, and when it was switched to,
#: since the activation was due.
STAGES = ["timer_ns", "waking_ns", "switched_ns"]
#: Those of them that samples in memory have.
READ_STAGES = ["timer_ns", "switched_ns"]


#: Of a program's activations: when each was due, whose it is, and what made it due.
OWN_COLUMNS = ["due_ns", "pid", "origin"]


def count_column(counter: str) -> str:
    """Return the name of the column of an event that is counted."""
    return f"count_{counter}"


def samples_schema(*, app: bool = False, parts: bool = False, counters: Sequence[str] = ()) -> Any:
    """Return the Arrow schema of samples.parquet.

    app: of a program's threads. parts: of a section. counters: of events that are counted of each
    row.
    """
    import pyarrow as pa

    types: dict[str, Any] = {
        "cpu": pa.uint16(),
        "activation": pa.int64(),
        "latency_ns": pa.int64(),
        "overrun": pa.bool_(),
        **{name: pa.int32() for name in STAGES},
    }
    if app:
        types |= {
            "due_ns": pa.int64(),
            "pid": pa.int32(),
            "origin": pa.dictionary(pa.int8(), pa.string()),
        }
    if parts:
        types |= dict.fromkeys(PARTS, pa.int64())
    counts = [count_column(name) for name in counters]
    types |= dict.fromkeys(counts, pa.int64())
    return make_schema(types, nullable=frozenset((*STAGES, *counts)))


@contextmanager
def samples_writer(
    directory: Path,
    *,
    app: bool = False,
    parts: bool = False,
    counters: Sequence[str] = (),
    name: str = NAME,
) -> Iterator[SamplesWriter]:
    """Yield what writes a file of samples, which appears when it is whole; raises OSError.

    app: the rows are of a program's threads, and each has its own due time. parts: they are
    executions of a section. counters: names of the events that are counted of each row.
    """
    # Consecutive indices, due times, and times that change little: differences are small numbers.
    delta = ["activation", "latency_ns", *STAGES, *(["due_ns"] if app else [])]
    options = {
        "compression_level": 1,
        "column_encoding": {"cpu": "PLAIN"} | dict.fromkeys(delta, "DELTA_BINARY_PACKED"),
        "use_dictionary": [
            "overrun",
            *(["pid", "origin"] if app else []),
            *(PARTS if parts else []),
        ],
    }
    schema = samples_schema(app=app, parts=parts, counters=counters)
    with (
        parquet_writer(directory / name, schema, **options) as file,
        ThreadPoolExecutor(1) as thread,
    ):
        writer = SamplesWriter(file, thread, app=app, parts=parts, counters=counters)
        yield writer
        writer.flush()
        writer.wait()


@dataclass(frozen=True)
class _Part:
    """Rows of one CPU as they came; stages: of all of them, int32, shape (n, 3)."""

    rows: Rows
    stages: NDArray[np.int32] | None
    threads: Threads | None


#: Of a file of samples; the latencies of a board do not compress that well.
MOST_ROWS = 1_000_000
ROWS_PER_BYTE = 200


class SamplesWriter:
    """Writes rows as they come, a group at a time, while the next one is gathered."""

    def __init__(
        self,
        file: Any,
        thread: ThreadPoolExecutor,
        *,
        app: bool,
        parts: bool = False,
        counters: Sequence[str] = (),
    ) -> None:
        self._thread = thread
        self._writing: Future[None] | None = None
        self._waiting: dict[int, list[_Part]] = {}
        self._rows = 0
        self._app = app
        self._parts = parts
        self._counters = counters
        self._file = file

    def rows(
        self,
        cpu: int,
        rows: Rows,
        stages: Stages | None = None,
        threads: Threads | None = None,
    ) -> None:
        """Add rows that follow those already added for this CPU.

        stages: int64 or int32, shape (rows that are no overruns, 3), NOT_SEEN where they were not
            observed.
        threads: of all rows of a program's threads, and of no others.
        """
        short = None if stages is None else _short_stages(rows, stages)
        self._waiting.setdefault(cpu, []).append(_Part(rows, short, threads))
        self._rows += rows.activation.size
        if self._rows >= GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what waits, after what is being written; raises OSError of that."""
        if not self._rows:
            return
        self.wait()
        self._writing = self._thread.submit(self._write, self._waiting)
        self._waiting = {}
        self._rows = 0

    def wait(self) -> None:
        """Wait for what is being written; raises OSError."""
        if self._writing is not None:
            self._writing.result()
        self._writing = None

    def _write(self, waiting: dict[int, list[_Part]]) -> None:
        import pyarrow as pa

        cpus = sorted(waiting)
        parts = [part for cpu in cpus for part in waiting[cpu]]
        sizes = [sum(part.rows.activation.size for part in waiting[cpu]) for cpu in cpus]
        table = pa.table(
            [
                np.repeat(np.array(cpus, np.uint16), sizes),
                np.concatenate([part.rows.activation for part in parts]),
                np.concatenate([part.rows.latency_ns for part in parts]),
                np.concatenate([part.rows.overrun for part in parts]),
                *_stage_columns(parts),
                *(_own_columns(parts) if self._app else []),
                *(_part_columns(parts) if self._parts else []),
                *(_count_columns(parts) if self._counters else []),
            ],
            schema=samples_schema(app=self._app, parts=self._parts, counters=self._counters),
        )
        self._file.write_table(table)


def _short_stages(rows: Rows, stages: Stages) -> NDArray[np.int32]:
    """Return the stages of all rows, NOT_SEEN for overruns, and where they do not fit 32 bits.

    Longer times do not fit the column; the latency has them.
    """
    if stages.dtype != np.int32:
        fits = (stages > NOT_SEEN) & (stages <= -(NOT_SEEN + 1))
        stages = np.where(fits, stages, NOT_SEEN)
    seen = stages.astype(np.int32, copy=False)
    if not rows.overrun.any():
        return seen
    filled = np.full((rows.activation.size, len(STAGES)), NOT_SEEN, np.int32)
    filled[~rows.overrun] = seen
    return filled


def _part_columns(parts: Sequence[_Part]) -> list[Any]:
    """Return the columns of what is known of executions."""
    known = [part.threads.parts for part in parts if part.threads is not None]
    table = np.concatenate([each for each in known if each is not None])
    return [np.ascontiguousarray(table[:, index]) for index in range(len(PARTS))]


def _count_columns(parts: Sequence[_Part]) -> list[Any]:
    """Return the columns of the events that are counted: null where there is no count."""
    import pyarrow as pa

    known = [part.threads.counts for part in parts if part.threads is not None]
    table = np.concatenate([counts for counts in known if counts is not None])
    return [pa.array(column, pa.int64(), mask=column < 0) for column in table.T.copy()]


def _stage_columns(parts: Sequence[_Part]) -> list[Any]:
    """Return the columns of the stages: null where not observed."""
    import pyarrow as pa

    if all(part.stages is None for part in parts):
        rows = sum(part.rows.activation.size for part in parts)
        return [pa.nulls(rows, pa.int32())] * len(STAGES)
    columns = []
    for index in range(len(STAGES)):
        column = np.concatenate(
            [
                np.full(part.rows.activation.size, NOT_SEEN, np.int32)
                if part.stages is None
                else part.stages[:, index]
                for part in parts
            ]
        )
        null = column == NOT_SEEN
        if not null.any():
            columns.append(pa.array(column, pa.int32()))
            continue
        column[null] = 0
        columns.append(pa.array(column, pa.int32(), mask=null))
    return columns


def _own_columns(parts: Sequence[_Part]) -> list[Any]:
    """Return when each activation was due, whose it is, and what made it due."""
    import pyarrow as pa

    threads = [part.threads for part in parts if part.threads is not None]
    origin = np.concatenate([part.origin for part in threads])
    return [
        np.concatenate([part.due_ns for part in threads]),
        np.concatenate([part.pid for part in threads]),
        pa.DictionaryArray.from_arrays(pa.array(origin, pa.int8()), pa.array(ORIGINS)),
    ]
