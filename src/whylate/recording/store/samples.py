"""samples.parquet: a row for each activation, in groups that are in order for each CPU.

Columns: cpu (uint16), activation (int64), latency_ns (int64), overrun (bool), and timer_ns,
waking_ns, switched_ns (int32, null where it was not seen). Activation i of a CPU was due at
start_ns + i * interval_ns (manifest.json). Where a program's threads were watched, the file has the
due times itself, in the columns due_ns (int64), pid (int32) and origin (string). Row groups follow
each other in time; within one the rows are sorted by CPU and activation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.errors import RecordingError
from whylate.recording.manifest import CpuAccount
from whylate.recording.samples import CpuSamples, CpuStages, Int64s, Woken
from whylate.recording.store.parquet import make_schema, parquet_errors, parquet_writer
from whylate.wire.app_samples import ORIGINS, Threads
from whylate.wire.constants import LATEST_NS, NOT_SEEN
from whylate.wire.samples import Rows

NAME = "samples.parquet"
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


def _schema(*, app: bool = False) -> Any:
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
    return make_schema(types, nullable=frozenset(STAGES))


@contextmanager
def samples_writer(directory: Path, *, app: bool = False) -> Iterator[SamplesWriter]:
    """Yield what writes samples.parquet, which appears when it is whole; raises OSError.

    app: the rows are of a program's threads, and each has its own due time.
    """
    encoding = {"cpu": "PLAIN", "activation": "DELTA_BINARY_PACKED", "latency_ns": "PLAIN"}
    options = {
        "compression_level": 3,
        # Consecutive indices and slowly changing latencies: differences are small numbers.
        "column_encoding": encoding | ({"due_ns": "DELTA_BINARY_PACKED"} if app else {}),
        "use_dictionary": ["overrun", *(["pid", "origin"] if app else [])],
    }
    with parquet_writer(directory / NAME, _schema(app=app), **options) as file:
        writer = SamplesWriter(file, app=app)
        yield writer
        writer.flush()


@dataclass(frozen=True)
class _Part:
    """Rows of one CPU as they came."""

    rows: Rows
    stages: Int64s | None
    threads: Threads | None


#: Of a file of samples; the latencies of a board do not compress that well.
MOST_ROWS = 1_000_000
ROWS_PER_BYTE = 200


class SamplesWriter:
    """Writes rows as they come, a group at a time."""

    def __init__(self, file: Any, *, app: bool) -> None:
        self._waiting: dict[int, list[_Part]] = {}
        self._rows = 0
        self._app = app
        self._file = file

    def rows(
        self,
        cpu: int,
        rows: Rows,
        stages: Int64s | None = None,
        threads: Threads | None = None,
    ) -> None:
        """Add rows that follow those already added for this CPU.

        stages: int64, shape (rows that are no overruns, 3), NOT_SEEN where they were not observed.
        threads: of all rows of a program's threads, and of no others.
        """
        self._waiting.setdefault(cpu, []).append(_Part(rows, stages, threads))
        self._rows += rows.activation.size
        if self._rows >= GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if not self._rows:
            return
        import pyarrow as pa

        cpus = sorted(self._waiting)
        parts = [part for cpu in cpus for part in self._waiting[cpu]]
        sizes = [sum(part.rows.activation.size for part in self._waiting[cpu]) for cpu in cpus]
        table = pa.table(
            [
                np.repeat(np.array(cpus, np.uint16), sizes),
                np.concatenate([part.rows.activation for part in parts]),
                np.concatenate([part.rows.latency_ns for part in parts]),
                np.concatenate([part.rows.overrun for part in parts]),
                *_stage_columns(parts),
                *(_own_columns(parts) if self._app else []),
            ],
            schema=_schema(app=self._app),
        )
        self._file.write_table(table)
        self._waiting.clear()
        self._rows = 0


def _stage_columns(parts: Sequence[_Part]) -> list[Any]:
    """Return the columns of the stages: null for overruns, and where not observed."""
    import pyarrow as pa

    if all(part.stages is None for part in parts):
        rows = sum(part.rows.activation.size for part in parts)
        return [pa.nulls(rows, pa.int32())] * len(STAGES)
    whole = []
    for part in parts:
        filled = np.full((part.rows.activation.size, len(STAGES)), NOT_SEEN)
        if part.stages is not None:
            filled[~part.rows.overrun] = part.stages
        whole.append(filled)
    table = np.concatenate(whole)
    # Longer times do not fit the column; the latency has them.
    unknown = (table <= NOT_SEEN) | (table > -(NOT_SEEN + 1))
    return [
        pa.array(np.where(null, 0, column).astype(np.int32), pa.int32(), mask=null)
        for column, null in zip(table.T, unknown.T, strict=True)
    ]


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


def read_samples(
    path: Path, accounts: Sequence[CpuAccount], interval_ns: int, *, app: bool = False
) -> list[CpuSamples]:
    """Return the samples of each CPU of a recording; raises RecordingError.

    app: of a program's threads, whose activations have due times; they are sorted by them. Raises
    for a file that is not Parquet, that whylate did not write, or whose rows are not those that
    the manifest counts.
    """
    import pyarrow.parquet as pq

    filling: dict[int, _Filling] = {}
    columns = [*COLUMNS, *(OWN_COLUMNS if app else [])]
    with (
        parquet_errors(f"{path} is not a Parquet file that can be read"),
        pq.ParquetFile(path) as file,
    ):
        columns = _check_columns(path, file.schema_arrow, columns, app=app)
        _check_size(path, file.metadata.num_rows, accounts)
        # Of a program's activations the switch is the end, and not each had an interrupt.
        staged = not app and set(READ_STAGES) <= set(columns) and _any_stage(file.metadata)
        columns = [name for name in columns if staged or name not in READ_STAGES]
        filling = {account.cpu: _Filling(account, columns) for account in accounts}
        # A group at a time: the file's own copy of ten million rows is never held whole.
        for group in range(file.num_row_groups):
            _fill(path, filling, file.read_row_group(group, columns=columns), columns)
    for cpu_rows in filling.values():
        cpu_rows.check(path)
    return [filling[account.cpu].samples(interval_ns) for account in accounts]


def _check_size(path: Path, rows: int, accounts: Sequence[CpuAccount]) -> None:
    """Compare with the manifest before memory is allocated."""
    wanted = sum(account.seen + account.overrun for account in accounts)
    if rows > MOST_ROWS + ROWS_PER_BYTE * path.stat().st_size:
        raise RecordingError(f"{path} has more activations than a file of its size can hold")
    if rows != wanted or len({account.cpu for account in accounts}) != len(accounts):
        raise RecordingError(
            f"{path} has {rows} activations, manifest.json {wanted}: they are of different runs"
        )


_TYPES: dict[str, Any] = {
    "activation": np.int64, "latency_ns": np.int64, "overrun": np.bool_,
    "timer_ns": np.int32, "switched_ns": np.int32,
    "due_ns": np.int64, "pid": np.int32, "origin": np.int8,
}  # fmt: skip


class _Filling:
    """The arrays of a CPU, of the length in the manifest, while groups are copied in."""

    def __init__(self, account: CpuAccount, names: Sequence[str]) -> None:
        self.account = account
        self.rows = account.seen + account.overrun
        self.filled = 0
        self.columns: dict[str, NDArray[Any]] = {
            name: np.empty(self.rows, _TYPES[name]) for name in names if name in _TYPES
        }

    def samples(self, interval_ns: int) -> CpuSamples:
        """Return what was filled in, in the order in which it was due."""
        account, columns, woken = self.account, self.columns, None
        if "due_ns" in columns:
            order = np.argsort(columns["due_ns"], kind="stable")
            columns = {name: column[order] for name, column in columns.items()}
            woken = Woken(columns["due_ns"], columns["pid"], columns["origin"], account.end_ns)
        staged = set(READ_STAGES) <= set(columns)
        return CpuSamples(
            cpu=account.cpu,
            start_ns=account.start_ns,
            interval_ns=interval_ns,
            activation=columns["activation"],
            latency_ns=columns["latency_ns"],
            overrun=columns["overrun"],
            woken=woken,
            stages=CpuStages(*(columns[name] for name in READ_STAGES)) if staged else None,
        )

    def check(self, path: Path) -> None:
        """Raise RecordingError unless the rows are those that the manifest counts."""
        account, overruns = self.account, int(self.columns["overrun"][: self.filled].sum())
        seen = self.filled - overruns
        if (seen, overruns) != (account.seen, account.overrun):
            raise RecordingError(
                f"{path} holds {seen} seen and {overruns} overrun activations of CPU "
                f"{account.cpu}, manifest.json has {account.seen} and {account.overrun}: "
                "they are of different runs"
            )
        activation, latency_ns = self.columns["activation"], self.columns["latency_ns"]
        if activation.size and (
            activation[0] < 0
            or max(int(latency_ns.max()), -int(latency_ns.min()), int(activation[-1])) > LATEST_NS
            or not _possible_dues(self.columns.get("due_ns"))
        ):
            raise RecordingError(f"{path}: an activation of CPU {account.cpu} at no possible time")
        if (np.diff(activation) <= 0).any():
            raise RecordingError(f"{path}: activations of CPU {account.cpu} are not in order")


def _possible_dues(due_ns: NDArray[np.int64] | None) -> bool:
    return due_ns is None or (int(due_ns.min()) >= 0 and int(due_ns.max()) <= LATEST_NS)


def _fill(path: Path, filling: dict[int, _Filling], table: Any, names: Sequence[str]) -> None:
    """Copy one row group to where its rows belong."""
    cpu = table["cpu"].to_numpy()
    columns = {name: _column(path, table, name) for name in names[1:]}
    # Runs of one CPU: within a group the rows are sorted by it.
    edges = np.concatenate(([0], np.flatnonzero(np.diff(cpu)) + 1, [cpu.size]))
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if start == end:
            continue
        cpu_rows = filling.get(int(cpu[start]))
        if cpu_rows is None:
            raise RecordingError(f"{path} has rows of CPUs that manifest.json does not name")
        to = cpu_rows.filled + end - start
        if to > cpu_rows.rows:
            raise RecordingError(
                f"{path} holds more activations of CPU {cpu_rows.account.cpu} than the "
                f"{cpu_rows.rows} in manifest.json: they are of different runs"
            )
        for name, source in columns.items():
            cpu_rows.columns[name][cpu_rows.filled : to] = source[start:end]
        cpu_rows.filled = to


def _column(path: Path, table: Any, name: str) -> NDArray[Any]:
    """Return a column as numbers: NOT_SEEN where it is null; an origin as its index in ORIGINS."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table[name]
    if name == "origin":
        column = pc.index_in(column.cast(pa.string()), value_set=pa.array(ORIGINS))
        if column.null_count:
            raise RecordingError(f"{path}: column origin names none of {', '.join(ORIGINS[1:])}")
    elif column.null_count:
        column = pc.fill_null(column, NOT_SEEN)
    array: NDArray[Any] = column.to_numpy()
    return array


def _any_stage(metadata: Any) -> bool:
    """Whether any stage of any activation was observed, by the null counts of the file."""
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group)
        for index in range(rows.num_columns):
            column = rows.column(index)
            if column.path_in_schema in READ_STAGES and not (
                column.is_stats_set and column.statistics.null_count == rows.num_rows
            ):
                return True
    return False


def _check_columns(path: Path, schema: Any, columns: Sequence[str], *, app: bool) -> list[str]:
    """Return the columns to read; raise RecordingError for a file of another program."""
    if (schema.metadata or {}).get(b"whylate") is None or not set(columns) <= set(schema.names):
        raise RecordingError(
            f"{path} was not written by whylate: it lacks the columns {', '.join(columns)}"
        )
    wanted = _schema(app=app)
    # Recordings of an older schema have no stages.
    columns = [*columns, *(name for name in READ_STAGES if name in schema.names)]
    for name in columns:
        if schema.field(name).type != wanted.field(name).type:
            raise RecordingError(
                f"{path}: column {name} is {schema.field(name).type}, "
                f"not {wanted.field(name).type}: it was changed after the recording"
            )
    return columns
