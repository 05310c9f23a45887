"""Every integer of a manifest and a journal has a range; absurd ones are refused in one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from whylate.recording.errors import RecordingError
from whylate.recording.manifest import SCHEMA_VERSION, Manifest
from whylate.recording.reader import MAX_MANIFEST, open_recording
from whylate.recording.store.journal import Closing, Opening
from whylate.recording.workloads.benchmarks import CounterPlan

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


@pytest.mark.parametrize("kind", [Manifest, Opening, Closing])
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


def test_a_manifest_without_an_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").symlink_to("/dev/zero")
    with pytest.raises(RecordingError, match=f"larger than the {MAX_MANIFEST >> 20} MiB"):
        open_recording(tmp_path)
