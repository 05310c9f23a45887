"""Every integer of manifests, journals and plans has a range; absurd ones are refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from journals import INTERVAL, START, opening, samples, write_journal

from whylate.compare.baseline import Baseline
from whylate.recording.console.log import ConsoleAccount
from whylate.recording.errors import RecordingError
from whylate.recording.manifest import SCHEMA_VERSION, Manifest
from whylate.recording.reader import MAX_MANIFEST, open_recording
from whylate.recording.store.journal import Closing, Opening
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.soak.comparison import ComparisonPlan
from whylate.soak.model import Cycle, SoakPlan
from whylate.study.model import FinishedRun, StudyPlan
from whylate.study.plan_file import PlanFile
from whylate.wire.constants import LATEST_NS
from whylate.wire.messages import CpuResult, CpuStarted, Result

RECORDED = Path(__file__).parent / "data" / "schema5"
#: msgspec's ranges end at 63 bits: it checks that it has 64 by itself.
CHECKED_BY_ITSELF = {"CounterPlan.config"}


def unbounded(kind: Any, place: str, known: set[type]) -> Iterator[str]:
    """The integers of a type that have no range."""
    inspect = msgspec.inspect
    if isinstance(kind, inspect.IntType):
        if kind.ge is None or kind.le is None:
            yield place
    elif isinstance(kind, inspect.StructType) and kind.cls not in known:
        known.add(kind.cls)
        for field in kind.fields:
            yield from unbounded(field.type, f"{kind.cls.__name__}.{field.name}", known)
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType):
        yield from unbounded(kind.item_type, place, known)
    elif isinstance(kind, inspect.DictType):
        yield from unbounded(kind.value_type, place, known)
    elif isinstance(kind, inspect.UnionType):
        for member in kind.types:
            yield from unbounded(member, place, known)


@pytest.mark.parametrize(
    "kind",
    [Manifest, Opening, Closing, ConsoleAccount, StudyPlan, FinishedRun, PlanFile, Baseline,
     SoakPlan, Cycle, ComparisonPlan],
)  # fmt: skip
def test_every_integer_has_a_range(kind: type) -> None:
    found = set(unbounded(msgspec.inspect.type_info(kind), kind.__name__, set()))
    assert found <= CHECKED_BY_ITSELF


def test_the_config_of_a_counter_has_64_bits() -> None:
    assert msgspec.convert({"name": "c", "config": (1 << 64) - 1}, CounterPlan)
    for config in (-1, 1 << 64):
        with pytest.raises(msgspec.ValidationError, match="64 bits"):
            msgspec.convert({"name": "c", "config": config}, CounterPlan)


@pytest.mark.parametrize(
    ("recording", "path", "value"),
    [
        ("wakeup", ("plan", "workload", "interval_ns"), 0),
        ("wakeup", ("plan", "workload", "interval_ns"), 10**30),
        ("wakeup", ("plan", "workload", "duration_ns"), 1 << 63),
        ("wakeup", ("cpus", 0, "start_ns"), (1 << 64) - 1),
        ("wakeup", ("cpus", 0, "start_ns"), -1),
        ("wakeup", ("cpus", 0, "end_ns"), 1),
        ("wakeup", ("cpus", 0, "seen"), 1 << 70),
        ("wakeup", ("cpus", 0, "cpu"), 8192),
        ("memory", ("plan", "workload", "block_ns"), 10**18),
        ("memory", ("turns", 0, "turn"), 199_999),
    ],
)
def test_an_absurd_number_in_a_manifest_is_refused_in_one_line(
    recording: str, path: tuple[Any, ...], value: int, tmp_path: Path
) -> None:
    shutil.copytree(RECORDED / recording, tmp_path / "r")
    manifest = tmp_path / "r" / "manifest.json"
    document = msgspec.to_builtins(open_recording(tmp_path / "r").manifest)
    document["schema_version"] = SCHEMA_VERSION
    place = document
    for key in path[:-1]:
        place = place[key]
    assert path[-1] in place or isinstance(path[-1], int)
    place[path[-1]] = value
    manifest.write_text(json.dumps(document))
    with pytest.raises(RecordingError, match="is not a manifest of whylate") as raised:
        open_recording(tmp_path / "r")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("end_ns", [0, START - 1, START + 10**15, LATEST_NS])
def test_a_result_that_ends_at_no_possible_time_is_malformed(end_ns: int, tmp_path: Path) -> None:
    end = START + 4 * INTERVAL
    sent = [
        CpuStarted(0, 1, 95, 1, START, end, INTERVAL),
        samples(),
        CpuResult(0, 1, 95, 1, START, end_ns, 4, 0, 0),
        Result(1, 1),
    ]
    write_journal(tmp_path / "r", opening(None), sent)
    manifest = open_recording(tmp_path / "r").manifest
    assert manifest.state == "cut"
    assert any("1 record of the journal" in problem.text for problem in manifest.problems)


@pytest.mark.parametrize(
    ("column", "value"),
    [("latency_ns", 1 << 62), ("latency_ns", -(1 << 63)), ("activation", -1)],
)
def test_absurd_rows_of_samples_are_refused(column: str, value: int, tmp_path: Path) -> None:
    shutil.copytree(RECORDED / "wakeup", tmp_path / "r")
    path = tmp_path / "r" / "samples.parquet"
    change(path, column, value)
    with pytest.raises(RecordingError, match="no possible time"):
        _ = open_recording(tmp_path / "r").samples


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("ns", -1, "impossible figure"),
        ("ns", (1 << 63) - 1, "impossible figure"),
        ("trial", 199_999, "turn that was not planned"),
        ("point", 1 << 40, "a point that was not measured then"),
    ],
)
def test_absurd_rows_of_repetitions_are_refused(
    column: str, value: int, why: str, tmp_path: Path
) -> None:
    shutil.copytree(RECORDED / "memory", tmp_path / "r")
    change(tmp_path / "r" / "trials.parquet", column, value)
    with pytest.raises(RecordingError, match=why):
        _ = open_recording(tmp_path / "r").repetitions


def change(path: Path, column: str, value: int) -> None:
    """Change the first row of a column."""
    table = pq.read_table(path)
    at = table.column_names.index(column)
    values = [value, *table.column(column).to_pylist()[1:]]
    field = table.schema.field(at)
    table = table.set_column(at, field, pa.array(values, field.type))
    pq.write_table(table.replace_schema_metadata(table.schema.metadata), path)


def test_a_manifest_without_an_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").symlink_to("/dev/zero")
    with pytest.raises(RecordingError, match=f"up to {MAX_MANIFEST >> 20} MiB are read"):
        open_recording(tmp_path)
