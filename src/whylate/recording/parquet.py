"""samples.parquet: a row for each activation, in groups that are in order for each CPU.

Columns: cpu (uint16), activation (int64), latency_ns (int64), overrun (bool), and timer_ns,
waking_ns, switched_ns (int32, null where it was not seen). Activation i of a CPU was due at
start_ns + i * interval_ns (manifest.json). Row groups follow each other in time; within one the
rows are sorted by CPU and activation.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.errors import RecordingError
from whylate.recording.manifest import SCHEMA_VERSION, CpuAccount
from whylate.recording.samples import CpuSamples, CpuStages
from whylate.wire.events import NOT_SEEN
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


def _schema() -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("cpu", pa.uint16(), nullable=False),
            pa.field("activation", pa.int64(), nullable=False),
            pa.field("latency_ns", pa.int64(), nullable=False),
            pa.field("overrun", pa.bool_(), nullable=False),
            *(pa.field(name, pa.int32()) for name in STAGES),
        ],
        metadata={b"whylate": str(SCHEMA_VERSION).encode()},
    )


def create_afresh(path: Path) -> IO[bytes]:
    """Create a file that is ours alone; raises OSError.

    What lies there from an earlier try goes first, and a link is never followed: the directory
    may have come from anywhere.
    """
    path.unlink(missing_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o644), "wb")


class WholeFile:
    """A Parquet file that appears under its name only when it is whole; raises OSError."""

    def __init__(self, directory: Path, name: str, schema: Any, **options: Any) -> None:
        import pyarrow.parquet as pq

        self._path = directory / name
        self._partial = directory / (name + ".partial")
        self._file = create_afresh(self._partial)
        self._writer = pq.ParquetWriter(self._file, schema, compression="zstd", **options)

    def write(self, table: Any) -> None:
        """Append a table."""
        self._writer.write_table(table)

    def close(self) -> None:
        """Give the file its name."""
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._partial.replace(self._path)

    def abandon(self) -> None:
        """Leave no partial file behind."""
        with contextlib.suppress(OSError):
            self._writer.close()
        with contextlib.suppress(OSError):
            self._file.close()
        self._partial.unlink(missing_ok=True)


class SamplesWriter:
    """Writes rows as they come; the file appears under its name only when it is whole."""

    def __init__(self, directory: Path) -> None:
        self._waiting: dict[int, list[tuple[Rows, NDArray[np.int64] | None]]] = {}
        self._rows = 0
        self._file = WholeFile(
            directory,
            NAME,
            _schema(),
            compression_level=3,
            # Consecutive indices and slowly changing latencies: differences are small numbers.
            column_encoding={
                "cpu": "PLAIN",
                "activation": "DELTA_BINARY_PACKED",
                "latency_ns": "PLAIN",
            },
            use_dictionary=["overrun"],
        )

    def rows(self, cpu: int, rows: Rows, stages: NDArray[np.int64] | None = None) -> None:
        """Add rows that follow those already added for this CPU.

        stages: int64, shape (rows that are no overruns, 3), NOT_SEEN where nobody saw them.
        """
        self._waiting.setdefault(cpu, []).append((rows, stages))
        self._rows += rows.activation.size
        if self._rows >= GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        """Write what waits and give the file its name; raises OSError when the disk is full."""
        self._flush()
        self._file.close()

    def abandon(self) -> None:
        """Leave no partial file behind."""
        self._file.abandon()

    def _flush(self) -> None:
        if not self._rows:
            return
        import pyarrow as pa

        cpus = sorted(self._waiting)
        parts = [part for cpu in cpus for part in self._waiting[cpu]]
        sizes = [sum(part.activation.size for part, _ in self._waiting[cpu]) for cpu in cpus]
        table = pa.table(
            [
                np.repeat(np.array(cpus, np.uint16), sizes),
                np.concatenate([part.activation for part, _ in parts]),
                np.concatenate([part.latency_ns for part, _ in parts]),
                np.concatenate([part.overrun for part, _ in parts]),
                *_stage_columns(parts),
            ],
            schema=_schema(),
        )
        self._file.write(table)
        self._waiting.clear()
        self._rows = 0


def _stage_columns(parts: Sequence[tuple[Rows, NDArray[np.int64] | None]]) -> list[Any]:
    """Return the columns of the stages: null for overruns, and where nobody looked."""
    import pyarrow as pa

    if all(stages is None for _, stages in parts):
        rows = sum(part.activation.size for part, _ in parts)
        return [pa.nulls(rows, pa.int32())] * len(STAGES)
    whole = []
    for part, stages in parts:
        filled = np.full((part.activation.size, len(STAGES)), NOT_SEEN)
        if stages is not None:
            filled[~part.overrun] = stages
        whole.append(filled)
    table = np.concatenate(whole)
    return [
        pa.array(column.astype(np.int32), pa.int32(), mask=column == NOT_SEEN) for column in table.T
    ]


def read_samples(path: Path, accounts: Sequence[CpuAccount], interval_ns: int) -> list[CpuSamples]:
    """Return the samples of each CPU of a recording; raises RecordingError.

    Raises for a file that is not Parquet, that whylate did not write, or that does not hold the
    rows that the manifest counts.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    filling: dict[int, _Filling] = {}
    try:
        with pq.ParquetFile(path) as file:
            columns = _check_columns(path, file.schema_arrow)
            _check_size(path, file.metadata.num_rows, accounts)
            staged = set(READ_STAGES) <= set(columns) and _any_stage(file.metadata)
            columns = columns if staged else COLUMNS
            filling = {account.cpu: _Filling(account, staged) for account in accounts}
            # A group at a time: the file's own copy of ten million rows is never held whole.
            for group in range(file.num_row_groups):
                _fill(path, filling, file.read_row_group(group, columns=columns))
    except (pa.ArrowException, OSError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RecordingError(f"{path} is not a Parquet file that can be read: {line}") from None
    for one in filling.values():
        one.check(path)
    return [
        CpuSamples(
            cpu=account.cpu,
            start_ns=account.start_ns,
            interval_ns=interval_ns,
            activation=filling[account.cpu].activation,
            latency_ns=filling[account.cpu].latency_ns,
            overrun=filling[account.cpu].overrun,
            stages=filling[account.cpu].stages(),
        )
        for account in accounts
    ]


def _check_size(path: Path, rows: int, accounts: Sequence[CpuAccount]) -> None:
    """Compare before memory is asked for by what the manifest says."""
    wanted = sum(account.seen + account.overrun for account in accounts)
    if rows != wanted or len({account.cpu for account in accounts}) != len(accounts):
        raise RecordingError(
            f"{path} holds {rows} activations, manifest.json says {wanted}: they are not of one run"
        )


class _Filling:
    """The arrays of one CPU, as long as the manifest says, while groups are copied in."""

    def __init__(self, account: CpuAccount, staged: bool) -> None:
        self.account = account
        self.rows = account.seen + account.overrun
        self.filled = 0
        self.activation = np.empty(self.rows, np.int64)
        self.latency_ns = np.empty(self.rows, np.int64)
        self.overrun = np.empty(self.rows, np.bool_)
        self.columns: dict[str, NDArray[Any]] = {
            "activation": self.activation,
            "latency_ns": self.latency_ns,
            "overrun": self.overrun,
        }
        if staged:
            self.columns |= {name: np.empty(self.rows, np.int32) for name in READ_STAGES}

    def stages(self) -> CpuStages | None:
        """Return the stages, if any were recorded."""
        columns = [self.columns[name] for name in READ_STAGES if name in self.columns]
        return CpuStages(*columns) if columns else None

    def check(self, path: Path) -> None:
        """Raise RecordingError unless the rows are those that the manifest counts."""
        account, overruns = self.account, int(self.overrun[: self.filled].sum())
        seen = self.filled - overruns
        if (seen, overruns) != (account.seen, account.overrun):
            raise RecordingError(
                f"{path} holds {seen} seen and {overruns} overrun activations of CPU "
                f"{account.cpu}, manifest.json says {account.seen} and {account.overrun}: "
                "they are not of one run"
            )
        if (np.diff(self.activation) <= 0).any():
            raise RecordingError(f"{path}: activations of CPU {account.cpu} are not in order")


def _fill(path: Path, filling: dict[int, _Filling], table: Any) -> None:
    """Copy one row group to where its rows belong."""
    cpu = table["cpu"].to_numpy()
    columns = {name: _array(table[name]) for name in table.column_names[1:]}
    # Runs of one CPU: within a group the rows are sorted by it.
    edges = np.concatenate(([0], np.flatnonzero(np.diff(cpu)) + 1, [cpu.size]))
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if start == end:
            continue
        one = filling.get(int(cpu[start]))
        if one is None:
            raise RecordingError(f"{path} has rows of CPUs that manifest.json does not name")
        to = one.filled + end - start
        if to > one.rows:
            raise RecordingError(
                f"{path} holds more activations of CPU {one.account.cpu} than the "
                f"{one.rows} that manifest.json says: they are not of one run"
            )
        for name, target in one.columns.items():
            target[one.filled : to] = columns[name][start:end]
        one.filled = to


def _array(column: Any) -> NDArray[Any]:
    """Return a column as an array: NOT_SEEN where it is null."""
    import pyarrow.compute as pc

    if column.null_count:
        column = pc.fill_null(column, NOT_SEEN)
    array: NDArray[Any] = column.to_numpy()
    return array


def _any_stage(metadata: Any) -> bool:
    """Whether any stage of any activation was seen: the file says how many are null."""
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group)
        for index in range(rows.num_columns):
            column = rows.column(index)
            if column.path_in_schema in READ_STAGES and not (
                column.is_stats_set and column.statistics.null_count == rows.num_rows
            ):
                return True
    return False


def _check_columns(path: Path, schema: Any) -> list[str]:
    """Return the columns to read; raise RecordingError for a file that is none of ours."""
    if (schema.metadata or {}).get(b"whylate") is None or not set(COLUMNS) <= set(schema.names):
        raise RecordingError(
            f"{path} was not written by whylate: it lacks the columns {', '.join(COLUMNS)}"
        )
    wanted = _schema()
    # Recordings of an older schema have no stages.
    columns = [*COLUMNS, *(name for name in READ_STAGES if name in schema.names)]
    for name in columns:
        if schema.field(name).type != wanted.field(name).type:
            raise RecordingError(
                f"{path}: column {name} is {schema.field(name).type}, "
                f"not {wanted.field(name).type}: it was changed after the recording"
            )
    return columns
