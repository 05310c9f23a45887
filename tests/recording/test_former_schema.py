"""Recordings of schema 5 open, and their summaries have the figures that they had then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whylate.cli.report.report import command
from whylate.recording.reader import open_recording
from whylate.recording.workloads import ACTIVATIONS, BENCHMARKS

DATA = Path(__file__).parent / "data" / "schema5"
WORKLOADS = ["wakeup", "app", "switch", "memory", "clock", "cmd"]
#: Keys of the JSON that have another name since.
RENAMED: dict[str, str] = {}
#: Keys that came since, as they are of a recording without them.
ADDED: dict[str, object] = {"hits": []}
#: Parameters of points that came since.
PARAMETERS: dict[str, dict[str, object]] = {"clock": {"remedy": None}}
#: Values of that JSON -> their present ones.
REWORDED = {"whylate-trials": "whylate-benchmark"}
#: Sentences, whose wording may change; their number may not.
SENTENCES = {"text", "trust_reasons", "refused"}
KILLED = {"killed-wakeup": "wakeup", "killed-memory": "memory"}


def summary_of(place: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    shutil.copytree(DATA / name, place / name)
    monkeypatch.chdir(place)
    result = CliRunner().invoke(command, [name, "--json"])
    return json.loads(result.stdout)


def renamed(value: Any) -> Any:
    if isinstance(value, dict):
        return {RENAMED.get(key, key): renamed(member) for key, member in value.items()}
    if isinstance(value, list):
        return [renamed(member) for member in value]
    return REWORDED.get(value, value) if isinstance(value, str) else value


def count_sentences(value: Any) -> int:
    return len(value) if isinstance(value, list) else int(bool(value))


def comparable(value: Any) -> Any:
    """Leave sentences out, and the last digits of a fit, which depend on the CPU."""
    if isinstance(value, dict):
        return {
            key: count_sentences(member) if key in SENTENCES else comparable(member)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [comparable(member) for member in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


@pytest.mark.parametrize("name", [*WORKLOADS, *KILLED])
def test_a_former_recording_has_the_figures_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    former = json.loads((DATA / f"{name}.json").read_text())
    present = summary_of(tmp_path, name, monkeypatch)
    of_activations: dict[str, object] = {"observer": None, "waits": [], "wakeups_without_wait": 0}
    for point in former.get("points", []):
        point["parameters"] |= PARAMETERS.get(name, {})
    added = ADDED | (of_activations if former["format"] == "whylate-summary" else {})
    assert comparable(present) == comparable(added | renamed(former))


def test_there_is_a_former_recording_of_every_workload() -> None:
    kinds = {workload.__struct_config__.tag for workload in (*ACTIVATIONS, *BENCHMARKS)}
    later = {"section", "off", "bulk", "flush", "offsets"}
    assert kinds - later == set(WORKLOADS)


@pytest.mark.parametrize(
    ("name", "kind"), [*zip(WORKLOADS, WORKLOADS, strict=True), *KILLED.items()]
)
def test_a_former_plan_is_of_its_workload(tmp_path: Path, name: str, kind: str) -> None:
    shutil.copytree(DATA / name, tmp_path / name)
    manifest = open_recording(tmp_path / name).manifest
    assert manifest.plan.workload.kind == kind
    assert manifest.state == ("recovered" if name in KILLED else "complete")
