"""Baselines: what is compared of runs, kept under a name and found again."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from compare_sides import arm
from whylate.cli.compare.baseline import command as baseline
from whylate.cli.compare.compare import command as compare_verb
from whylate.compare.baseline import load, path_of, save
from whylate.compare.judge import compare
from whylate.compare.model import Question
from whylate.compare.runs import Arm, Run
from whylate.recording.errors import RecordingError
from whylate.stats.comparison.run_statistics import Statistic, exact_value

OLD = arm("old", 8)
NEW = arm("newer", 8, 1.5)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data/whylate/baselines"


def test_a_baseline_is_the_runs_that_it_was_made_of(home: Path) -> None:
    path = save("v6.12", OLD.runs, replace=False)
    assert path == home / "v6.12.json"
    found = load("v6.12")
    assert found.name == "baseline v6.12"
    assert found.runs == OLD.runs
    direct, kept = (compare(side, NEW, Question()) for side in (OLD, found))
    assert (kept.verdict, kept.p) == (direct.verdict, direct.p)
    assert kept.statistics == direct.statistics


def test_a_baseline_of_points_is_compared_by_them() -> None:
    def side(name: str, value: float) -> Arm:
        statistics = (Statistic("copy 1 MiB", unit="GB/s", higher_is_better=True, quantity="q"),)
        return Arm(name, tuple(
            Run(f"{name}-{n}", {"copy 1 MiB": exact_value(math.log(value) + n / 1000)}, 1, boot="b",
                sets={"workload": "memory"}, statistics=statistics, by_points=True)
            for n in range(8)
        ))  # fmt: skip

    save("m", side("old", 10).runs, replace=False)
    kept = load("m")
    assert kept.runs == side("old", 10).runs
    found = compare(kept, side("newer", 5), Question())
    assert found.verdict == "worse"
    assert found.statistics[0].unit == "GB/s"


def test_a_name_with_a_slash_or_an_ending_is_a_file(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (str(tmp_path / "beside"), "my.json"):
        assert save(name, OLD.runs, replace=False) == Path(name)
        assert load(name).runs == OLD.runs
    assert not home.exists()


def test_a_baseline_is_not_overwritten_unless_that_is_said() -> None:
    save("a", OLD.runs, replace=False)
    with pytest.raises(RecordingError, match="there is a baseline a already: say --replace"):
        save("a", NEW.runs, replace=False)
    assert load("a").runs == OLD.runs
    save("a", NEW.runs, replace=True)
    assert load("a").runs == NEW.runs


@pytest.mark.parametrize("name", ["", ".hidden", "a b", "-x", "x" * 81, "ä"])
def test_an_invalid_name_is_one_line(name: str) -> None:
    with pytest.raises(RecordingError, match="is not a valid baseline name") as error:
        path_of(name)
    assert len(str(error.value)) < 160


def test_one_that_is_not_there_is_one_line() -> None:
    with pytest.raises(RecordingError, match="there is no baseline v7"):
        load("v7")


@pytest.mark.parametrize(
    "damage",
    [b"", b"\xff\xfe", b'{"format":"whylate-baseline"', b'{"format":"whylate-study","runs":[]}'],
)
def test_a_damaged_one_is_said(damage: bytes) -> None:
    path = save("a", OLD.runs, replace=False)
    path.write_bytes(damage)
    with pytest.raises(RecordingError, match=r"a\.json is damaged"):
        load("a")


def test_one_without_runs_is_said() -> None:
    save("a", [], replace=False)
    with pytest.raises(RecordingError, match="has no runs"):
        load("a")


def test_one_of_a_newer_whylate_asks_for_that_whatever_else_stands_in_it() -> None:
    path = save("a", OLD.runs, replace=False)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "schema_version": 2, "what is new": 1}))
    with pytest.raises(RecordingError, match=r"newer whylate \(schema 2\): update it"):
        load("a")
    # With ours, what we do not know is no baseline.
    path.write_text(json.dumps({**document, "what is new": 1}))
    with pytest.raises(RecordingError, match="damaged"):
        load("a")


# -- the verbs


def histogram(path: Path, level_us: float, seed: int) -> None:
    """Write what cyclictest prints of a run with --histogram."""
    rng = np.random.default_rng(seed)
    level = level_us * math.exp(0.02 * rng.standard_normal())
    latency_us = np.round(level * rng.lognormal(0, 0.2, 20_000)).astype(int)
    bins = np.bincount(latency_us)
    lines = ["# Histogram", *(f"{us:06d} {n:06d}" for us, n in enumerate(bins.tolist()))]
    lines += [f"# Total: {latency_us.size:09d}", f"# Avg Latencies: {round(latency_us.mean()):05d}"]
    lines += [f"# Max Latencies: {latency_us.max():05d}", "# Histogram Overflows: 00000"]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, list[str]]:
    """Return the files of eight runs of each side."""
    found: dict[str, list[str]] = {}
    for name, level_us in (("old", 10.0), ("newer", 15.0)):
        for number in range(8):
            path = tmp_path / f"{name}-{number}"
            histogram(path, level_us, number)
            found.setdefault(name, []).append(str(path))
    return found


def said(words: list[str]) -> Result:
    return CliRunner().invoke(baseline, words)


def test_the_verb_saves_and_lists(runs: dict[str, list[str]]) -> None:
    done = said(["save", "v1", *runs["old"]])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("8 runs of unknown boots in ")
    said(["save", "v6.12", *runs["newer"]])
    listed = said(["list"]).stdout.splitlines()
    assert listed == ["v1  8 runs", "v6.12  8 runs"]


def test_a_comparison_with_a_baseline_is_that_with_its_runs(runs: dict[str, list[str]]) -> None:
    said(["save", "v1", *runs["old"]])
    verb = CliRunner()
    kept = verb.invoke(compare_verb, ["--baseline", "v1", *runs["newer"], "--json"])
    direct = verb.invoke(compare_verb, [*runs["old"], ":", *runs["newer"], "--json"])
    assert kept.exit_code == direct.exit_code == 0, kept.output
    found, same = json.loads(kept.stdout), json.loads(direct.stdout)
    assert found["verdict"] == same["verdict"] == "worse"
    assert found["first"]["name"] == "baseline v1"
    assert (found["p"], found["statistics"]) == (same["p"], same["statistics"])
