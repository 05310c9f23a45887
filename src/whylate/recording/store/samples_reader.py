"""Reading samples.parquet: into memory, or of a long recording into a temporary file."""

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
from whylate.recording.samples import (
    Activations,
    CpuSamples,
    CpuStages,
    Numbered,
    Stage,
    Woken,
)
from whylate.recording.store.column_file import Column, ColumnFile
from whylate.recording.store.parquet import parquet_errors
from whylate.recording.store.samples import COLUMNS, OWN_COLUMNS, READ_STAGES, samples_schema
from whylate.recording.store.sort_app import sort_by_due
from whylate.recording.store.stored_app import AppColumns, NumberedApp, StoredApp, stored_app
from whylate.recording.store.stored_samples import Numbers, StoredSamples
from whylate.wire.app_samples import ORIGINS
from whylate.wire.constants import LATEST_NS, NOT_SEEN

#: Of a file of samples; the latencies of a board do not compress that well.
MOST_ROWS = 1_000_000
ROWS_PER_BYTE = 200
#: More rows than this are not held in memory.
MEMORY_ROWS = 1 << 20
_BATCH_ROWS = 1 << 17
_STAGE_NAMES: dict[str, Stage] = {"timer_ns": "interrupt", "switched_ns": "thread"}


def read_samples(
    path: Path, accounts: Sequence[CpuAccount], interval_ns: int, *, app: bool = False
) -> list[CpuSamples]:
    """Return the samples of each CPU of a recording in memory; raises RecordingError.

    app: of a program's threads, whose activations have due times; they are sorted by them. Raises
    for a file that is not Parquet, that whylate did not write, or whose rows are not those that
    the manifest counts.
    """
    with _samples_file(path, accounts, app=app) as source:
        filling = {account.cpu: _Filling(account, source.columns) for account in accounts}
        for cpu, columns in source.stretches(filling):
            filling[cpu].add(columns)
    for cpu_rows in filling.values():
        cpu_rows.check(path)
    return [filling[account.cpu].samples(interval_ns) for account in accounts]


def read_series(
    path: Path, accounts: Sequence[CpuAccount], interval_ns: int, *, app: bool = False
) -> Sequence[Activations]:
    """Return the same, from a temporary file where they are many; raises RecordingError."""
    if _are_few(accounts):
        return read_samples(path, accounts, interval_ns, app=app)
    if app:
        return [_sorted_app(cpu) for cpu in _store_app(path, accounts)]
    return store_samples(path, accounts, interval_ns)


def read_numbered(
    path: Path, accounts: Sequence[CpuAccount], interval_ns: int, *, app: bool = False
) -> Sequence[Numbered]:
    """Return the same, to be read in the order of their numbers; raises RecordingError."""
    if _are_few(accounts):
        return read_samples(path, accounts, interval_ns, app=app)
    if app:
        return [cpu.numbered() for cpu in _store_app(path, accounts)]
    return store_samples(path, accounts, interval_ns)


def _are_few(accounts: Sequence[CpuAccount]) -> bool:
    return sum(account.seen + account.overrun for account in accounts) <= MEMORY_ROWS


def _store_app(path: Path, accounts: Sequence[CpuAccount]) -> list[_StoringApp]:
    """Put a program's activations on disk in the order of their numbers; raises RecordingError."""
    with _samples_file(path, accounts, app=True) as source:
        storing = {account.cpu: _StoringApp(account) for account in accounts}
        for cpu, columns in source.stretches(storing):
            storing[cpu].add(path, columns)
    for cpu_rows in storing.values():
        cpu_rows.check(path)
    return [storing[account.cpu] for account in accounts]


def _sorted_app(cpu: _StoringApp) -> StoredApp:
    account = cpu.account
    return stored_app(account.cpu, account.start_ns, account.end_ns, sort_by_due(cpu.stored))


def store_samples(
    path: Path, accounts: Sequence[CpuAccount], interval_ns: int
) -> list[StoredSamples]:
    """Return the samples of each CPU of a periodic workload on disk; raises RecordingError."""
    with _samples_file(path, accounts, app=False) as source:
        file = ColumnFile()
        latency = np.int32 if source.is_short() else np.int64
        storing = {
            account.cpu: _Storing(account, file, source.columns, latency) for account in accounts
        }
        for cpu, columns in source.stretches(storing):
            storing[cpu].add(path, columns)
    for cpu_rows in storing.values():
        cpu_rows.check(path)
    return [storing[account.cpu].samples(interval_ns) for account in accounts]


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
_Columns = dict[str, NDArray[Any]]


class _Cpu:
    """The rows of one CPU while they come; `filled` of the number in the manifest."""

    def __init__(self, account: CpuAccount) -> None:
        self.account = account
        self.rows = account.seen + account.overrun
        self.filled = 0
        self.overruns = 0

    def count(self, columns: _Columns) -> tuple[int, int]:
        """Count rows; return where they belong."""
        first = self.filled
        self.filled += columns["latency_ns"].size
        self.overruns += int(np.count_nonzero(columns["overrun"]))
        return first, self.filled

    def check(self, path: Path) -> None:
        """Raise RecordingError unless the rows are those that the manifest counts."""
        account, seen = self.account, self.filled - self.overruns
        if (seen, self.overruns) != (account.seen, account.overrun):
            raise RecordingError(
                f"{path} holds {seen} seen and {self.overruns} overrun activations of CPU "
                f"{account.cpu}, manifest.json has {account.seen} and {account.overrun}: "
                "they are of different runs"
            )


class _Filling(_Cpu):
    """The arrays of a CPU, of the length in the manifest, while groups are copied in."""

    def __init__(self, account: CpuAccount, names: Sequence[str]) -> None:
        super().__init__(account)
        self.columns: _Columns = {
            name: np.empty(self.rows, _TYPES[name]) for name in names if name in _TYPES
        }

    def add(self, columns: _Columns) -> None:
        """Add the next rows."""
        first, end = self.count(columns)
        for name, source in columns.items():
            self.columns[name][first:end] = source

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
        """Raise RecordingError unless the rows are those that the manifest counts, in order."""
        super().check(path)
        if (np.diff(self.columns["activation"]) <= 0).any():
            raise _out_of_order(path, self.account)


class _StoringApp(_Cpu):
    """The columns of a CPU's activations of a program in a temporary file, while they come."""

    def __init__(self, account: CpuAccount) -> None:
        super().__init__(account)
        self.stored = AppColumns(self.rows)
        self._next = -1

    def add(self, path: Path, columns: _Columns) -> None:
        """Add the next rows; raises RecordingError for numbers that are not in order."""
        self.count(columns)
        number = columns["activation"]
        if int(number[0]) < self._next or (np.diff(number) <= 0).any():
            raise _out_of_order(path, self.account)
        self._next = int(number[-1]) + 1
        self.stored.add(columns)

    def numbered(self) -> NumberedApp:
        """Return them in the order of their numbers."""
        account = self.account
        return NumberedApp(account.cpu, account.start_ns, self.stored.columns, self.rows)


class _Storing(_Cpu):
    """The columns of a CPU in a temporary file, while groups are copied in."""

    def __init__(
        self, account: CpuAccount, file: ColumnFile, names: Sequence[str], latency: type[Any]
    ) -> None:
        super().__init__(account)
        kinds = {"latency_ns": latency, "overrun": np.bool_}
        kinds |= {name: np.int32 for name in _STAGE_NAMES if name in names}
        self.columns: dict[str, Column] = {
            name: file.column(self.rows, kind) for name, kind in kinds.items()
        }
        self._next = -1
        self._rows: list[NDArray[np.int64]] = []
        self._first: list[NDArray[np.int64]] = []

    def add(self, path: Path, columns: _Columns) -> None:
        """Add the next rows; raises RecordingError for numbers that are not in order."""
        first, _ = self.count(columns)
        for name, column in self.columns.items():
            column.write(first, columns[name])
        number = columns["activation"]
        steps = np.diff(number)
        follows = int(number[0]) >= self._next if self.filled > number.size else True
        if not follows or (steps.size and int(steps.min()) <= 0):
            raise _out_of_order(path, self.account)
        gaps = np.flatnonzero(steps != 1) + 1
        if first == 0 or int(number[0]) != self._next:
            gaps = np.concatenate((np.zeros(1, np.int64), gaps))
        self._rows.append(gaps + first)
        self._first.append(number[gaps])
        self._next = int(number[-1]) + 1

    def samples(self, interval_ns: int) -> StoredSamples:
        """Return what was written."""
        account = self.account
        none = [np.zeros(0, np.int64)]
        numbers = Numbers(
            np.concatenate(self._rows or none), np.concatenate(self._first or none), self.rows
        )
        return StoredSamples(
            cpu=account.cpu,
            start_ns=account.start_ns,
            interval_ns=interval_ns,
            numbers=numbers,
            overruns=self.overruns,
            latency=self.columns["latency_ns"],
            overrun=self.columns["overrun"],
            stages={
                stage: self.columns[name]
                for name, stage in _STAGE_NAMES.items()
                if name in self.columns
            },
        )


def _are_possible(columns: _Columns) -> bool:
    """Whether no number or time of these rows is out of the range that a board can send."""
    ranges = {
        "activation": (0, LATEST_NS), "latency_ns": (-LATEST_NS, LATEST_NS),
        "due_ns": (0, LATEST_NS),
    }  # fmt: skip
    return all(
        least <= int(columns[name].min()) and int(columns[name].max()) <= most
        for name, (least, most) in ranges.items()
        if name in columns
    )


def _out_of_order(path: Path, account: CpuAccount) -> RecordingError:
    return RecordingError(f"{path}: activations of CPU {account.cpu} are not in order")


@dataclass(frozen=True)
class _SamplesFile:
    """An open file whose columns and number of rows are as they should be."""

    path: Path
    file: Any
    columns: Sequence[str]

    def is_short(self) -> bool:
        """Whether all latencies fit 32 bits, by the statistics of the file."""
        metadata = self.file.metadata
        for group in range(metadata.num_row_groups):
            statistics = _column_of(metadata.row_group(group), "latency_ns").statistics
            if statistics is None or not statistics.has_min_max:
                return False
            if not -(1 << 31) <= statistics.min <= statistics.max < 1 << 31:
                return False
        return True

    def stretches(self, cpus: dict[int, Any]) -> Iterator[tuple[int, _Columns]]:
        """Yield the rows, those of one CPU after those of another; raises RecordingError.

        Some at a time: the file's own copy of all rows is never held whole. cpus: the CPUs
        that there may be, each with what is `filled` of the `rows` that it has.
        """
        # Whole groups, threads, and reading ahead take Arrow's pool more memory, which it keeps.
        batches = self.file.iter_batches(_BATCH_ROWS, columns=self.columns, use_threads=False)
        for batch in batches:
            cpu = batch.column("cpu").to_numpy()
            columns = {name: _column(self.path, batch, name) for name in self.columns[1:]}
            # Runs of one CPU: within a group the rows are sorted by it.
            edges = np.concatenate(([0], np.flatnonzero(np.diff(cpu)) + 1, [cpu.size]))
            for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
                if start == end:
                    continue
                cpu_rows = cpus.get(int(cpu[start]))
                if cpu_rows is None:
                    raise RecordingError(
                        f"{self.path} has rows of CPUs that manifest.json does not name"
                    )
                if cpu_rows.filled + end - start > cpu_rows.rows:
                    raise RecordingError(
                        f"{self.path} holds more activations of CPU {cpu_rows.account.cpu} than "
                        f"the {cpu_rows.rows} in manifest.json: they are of different runs"
                    )
                stretch = {name: source[start:end] for name, source in columns.items()}
                if not _are_possible(stretch):
                    raise RecordingError(
                        f"{self.path}: an activation of CPU {cpu_rows.account.cpu} at no "
                        "possible time"
                    )
                yield cpu_rows.account.cpu, stretch


@contextmanager
def _samples_file(
    path: Path, accounts: Sequence[CpuAccount], *, app: bool
) -> Iterator[_SamplesFile]:
    """Open a file and compare it with the manifest; raises RecordingError, later ones too."""
    import pyarrow.parquet as pq

    columns = [*COLUMNS, *(OWN_COLUMNS if app else [])]
    with (
        parquet_errors(f"{path} is not a Parquet file that can be read"),
        pq.ParquetFile(path, pre_buffer=False) as file,
    ):
        columns = _check_columns(path, file.schema_arrow, columns, app=app)
        _check_size(path, file.metadata.num_rows, accounts)
        # Of a program's activations the switch is the end, and not each had an interrupt.
        staged = not app and set(READ_STAGES) <= set(columns) and _any_stage(file.metadata)
        columns = [name for name in columns if staged or name not in READ_STAGES]
        yield _SamplesFile(path, file, columns)


def _column(path: Path, batch: Any, name: str) -> NDArray[Any]:
    """Return a column as numbers: NOT_SEEN where it is null; an origin as its index in ORIGINS."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = batch.column(name)
    if name == "origin":
        column = pc.index_in(column.cast(pa.string()), value_set=pa.array(ORIGINS))
        if column.null_count:
            raise RecordingError(f"{path}: column origin names none of {', '.join(ORIGINS[1:])}")
    elif column.null_count:
        column = pc.fill_null(column, NOT_SEEN)
    array: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return array


def _column_of(group: Any, name: str) -> Any:
    """Return the metadata of a column in a group."""
    columns = (group.column(index) for index in range(group.num_columns))
    return next(column for column in columns if column.path_in_schema == name)


def _any_stage(metadata: Any) -> bool:
    """Whether any stage of any activation was observed, by the null counts of the file."""
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group)
        for name in READ_STAGES:
            column = _column_of(rows, name)
            if not (column.is_stats_set and column.statistics.null_count == rows.num_rows):
                return True
    return False


def _check_columns(path: Path, schema: Any, columns: Sequence[str], *, app: bool) -> list[str]:
    """Return the columns to read; raise RecordingError for a file of another program."""
    if (schema.metadata or {}).get(b"whylate") is None or not set(columns) <= set(schema.names):
        raise RecordingError(
            f"{path} was not written by whylate: it lacks the columns {', '.join(columns)}"
        )
    wanted = samples_schema(app=app)
    # Recordings of an older schema have no stages.
    columns = [*columns, *(name for name in READ_STAGES if name in schema.names)]
    for name in columns:
        if schema.field(name).type != wanted.field(name).type:
            raise RecordingError(
                f"{path}: column {name} is {schema.field(name).type}, "
                f"not {wanted.field(name).type}: it was changed after the recording"
            )
    return columns
