"""Windows that somebody changed are one line, whatever was put in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from journals import journal, samples
from test_windows import NAMES, STARTED, WINDOW, events

from whylate.recording.errors import RecordingError
from whylate.recording.finish import finish
from whylate.recording.recorder.windows import EVENTS, WINDOWS, checked_windows


def test_what_whylate_wrote_is_read_as_it_is(tmp_path: Path) -> None:
    manifest = finish(journal(tmp_path / "r", STARTED, samples(), WINDOW, events(), *NAMES))
    (window,) = checked_windows(tmp_path / "r", manifest)
    assert window.activation == WINDOW.activation
    assert window.events


def _changed(path: Path, column: str, values: Any, kind: Any = None) -> None:
    table = pq.read_table(path)
    index = table.schema.names.index(column)
    kind = kind or table.schema.field(column).type
    column_of = pa.array([values] * table.num_rows, kind)
    pq.write_table(table.set_column(index, pa.field(column, kind), column_of), path)


@pytest.mark.parametrize(
    ("name", "column", "value", "kind", "said"),
    [
        (WINDOWS, "due_ns", None, None, "column due_ns lacks a value"),
        (WINDOWS, "due_ns", "now", pa.string(), "column due_ns is string, not int64"),
        (WINDOWS, "run_ns", 1 << 62, None, "column run_ns has an impossible time"),
        (WINDOWS, "waking_ns", -(1 << 62), None, "column waking_ns has an impossible time"),
        (WINDOWS, "cpu", 77, None, "a window of CPU 77, which was not measured"),
        (EVENTS, "time_ns", 1 << 62, None, "column time_ns has an impossible time"),
        (EVENTS, "stack", [None], None, "column stack lacks a value"),
        (EVENTS, "name", None, None, "column name lacks a value"),
    ],
)
def test_what_there_cannot_be_is_said(
    tmp_path: Path, name: str, column: str, value: object, kind: object, said: str
) -> None:
    manifest = finish(journal(tmp_path / "r", STARTED, samples(), WINDOW, events(), *NAMES))
    _changed(tmp_path / "r" / name, column, value, kind)
    with pytest.raises(RecordingError) as caught:
        list(checked_windows(tmp_path / "r", manifest))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_manifest_without_cpus_has_no_windows(tmp_path: Path) -> None:
    manifest = finish(journal(tmp_path / "r", STARTED, samples(), WINDOW, events(), *NAMES))
    with pytest.raises(RecordingError, match="CPU 0, which was not measured"):
        list(checked_windows(tmp_path / "r", msgspec.structs.replace(manifest, cpus=[])))
