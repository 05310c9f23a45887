"""`whylate diff` for benchmarks, for two workloads, and for what two recordings were made with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from whylate.cli.compare.diff import command

DATA = Path(__file__).parents[1] / "recording" / "data"
BENCHMARKS = ("switch", "memory", "clock", "cmd")


@pytest.fixture
def both(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Path]:
    for name in ("a", "b"):
        shutil.copytree(source(request.param), tmp_path / name)
    return tmp_path / "a", tmp_path / "b"


def source(name: str) -> Path:
    return next(path for path in DATA.rglob(name) if (path / "manifest.json").exists())


def change_manifest(recording: Path, **changes: Any) -> None:
    path = recording / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def diff(*words: object) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(command, [*map(str, words), "--json"])
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize("both", BENCHMARKS, indirect=True)
def test_a_benchmark_is_the_same_as_its_copy(both: tuple[Path, Path]) -> None:
    status, document = diff(*both)
    assert (status, document["same"]) == (0, True)
    assert "repetitions are the same" in CliRunner().invoke(command, [*map(str, both)]).output


@pytest.mark.parametrize("both", BENCHMARKS, indirect=True)
def test_the_first_repetition_that_differs_is_named(both: tuple[Path, Path]) -> None:
    path = next(
        path for path in both[1].glob("*.parquet") if path.stem in ("trials", "repetitions")
    )
    table = pq.read_table(path)
    column = next(
        name
        for name in table.column_names
        if name not in ("turn", "trial", "point", "repetition") and not name.startswith("count ")
    )
    values = table.column(column).to_pylist()
    values[3] += 1
    at = table.column_names.index(column)
    pq.write_table(table.set_column(at, column, pa.array(values, pa.int64())), path)
    status, document = diff(*both)
    assert status == 1
    parting = document["repetition_parting"]
    assert (parting["column"], parting["second"] - parting["first"]) == (column, 1)
    assert (parting["same_before"], parting["differing"]) == (3, 1)


@pytest.mark.parametrize("both", ["wakeup"], indirect=True)
def test_settings_and_items_of_lists_that_differ_are_listed_one_by_one(
    both: tuple[Path, Path],
) -> None:
    for recording, value, option in zip(both, ("1", "2"), ("HZ=100", "HZ=250"), strict=True):
        manifest = json.loads((recording / "manifest.json").read_text())
        plan = manifest["plan"] | {
            "settings": [{"path": "/proc/sys/vm/swappiness", "value": value}]
        }
        facts = [
            fact
            for fact in manifest["facts"]
            if fact["name"] not in ("kernel_config", "boot_id", "uptime_s")
        ]
        config = {"name": "kernel_config", "value": ["SMP=y", option], "source": "", "theme": ""}
        change_manifest(recording, plan=plan, facts=[*facts, config])
    _, document = diff(*both)
    assert document["differing_facts"] == [
        {"name": "setting /proc/sys/vm/swappiness", "first": "1", "second": "2"},
        {"name": "kernel_config", "first": "HZ=100", "second": "HZ=250"},
    ]


def test_two_workloads_have_no_figure_in_common(tmp_path: Path) -> None:
    for name in ("switch", "memory"):
        shutil.copytree(source(name), tmp_path / name)
    status, document = diff(tmp_path / "switch", tmp_path / "memory")
    assert (status, document["same"]) == (1, False)
    assert document["workloads"] == ["switch", "memory"]
    assert any(row["name"] == "plan: points" for row in document["differing_facts"])
