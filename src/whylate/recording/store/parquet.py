"""Parquet files of a recording: written whole, and read with errors of one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from whylate.files import whole_file
from whylate.recording.errors import RecordingError
from whylate.recording.manifest import SCHEMA_VERSION

#: Metadata of the files' schemas.
METADATA = {b"whylate": str(SCHEMA_VERSION).encode()}


def make_schema(types: Mapping[str, Any], nullable: frozenset[str] = frozenset()) -> Any:
    """Return an Arrow schema of columns by name and type."""
    import pyarrow as pa

    fields = [pa.field(name, kind, nullable=name in nullable) for name, kind in types.items()]
    return pa.schema(fields, metadata=METADATA)


@contextmanager
def parquet_writer(path: Path, schema: Any, **options: Any) -> Iterator[Any]:
    """Yield a pyarrow ParquetWriter of a file that appears when it is whole; raises OSError."""
    import pyarrow.parquet as pq

    with (
        whole_file(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd", **options) as writer,
    ):
        yield writer


@contextmanager
def parquet_errors(text: str) -> Iterator[None]:
    """Raise RecordingError, one line that begins with text, for what reading Parquet raises."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RecordingError(f"{text}: {line[:300]}") from None
