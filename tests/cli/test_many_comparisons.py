"""Several comparisons beside each other, and the exit status of a study."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from compare_sides import arm
from whylate.cli import whylate
from whylate.cli.study.run import _show_end
from whylate.cli.study.show import _exit_status
from whylate.compare.runs import Run
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.study.journal import StudyJournal, read_study
from whylate.study.model import FinishedRun, LoadSet, Stop, StudyPlan, Variant
from whylate.study.results import evidence
from whylate.study.results.effects import BoardEffects, Effect

EACH = "each at 5 % by itself: of equal sides about one in twenty is called better or worse."


def run(*words: object) -> Result:
    return CliRunner().invoke(
        whylate, [str(word) for word in words], env={"COLUMNS": "200"}, catch_exceptions=False
    )


@pytest.fixture
def sides(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in "abc"]
    for number, path in enumerate(paths):
        path.write_text("".join(f"{10 * number + n}\n" for n in range(1, 11)))
    return paths


def test_several_comparisons_state_that_each_is_at_5_per_cent(sides: list[Path]) -> None:
    text = f"2 comparisons, {EACH}"
    several, single = (["compare", *sides[:count], "--independent"] for count in (3, 2))
    assert run(*several).stdout.splitlines()[-1] == text
    assert run(*several, "--markdown").stdout.splitlines()[-1] == text
    documents = json.loads(run(*several, "--json").stdout)
    assert [each["together"] for each in documents] == [{"comparisons": 2, "each_at": 0.05}] * 2
    assert EACH not in run(*single).stdout
    assert "together" not in json.loads(run(*single, "--json").stdout)


@pytest.mark.parametrize("unit", ["|<img src=x>", "`x`", "a\nb", "[x](javascript:y)"])
def test_a_unit_is_a_cell_of_markdown(sides: list[Path], unit: str) -> None:
    shown = run("compare", *sides[:2], "--independent", "--markdown", "--unit", unit).stdout
    (row,) = (line for line in shown.splitlines() if line.startswith("| value"))
    acting = re.sub(r"\\.", "", row).replace("< 0.001", "")
    assert acting.count("|") == 6
    assert not re.search(r"[<>`]|\]\(", acting)


def study(
    directory: Path, monkeypatch: pytest.MonkeyPatch, *, made: int = 8, boards: int = 1
) -> Callable[[float], Path]:
    """Return what makes a study of 8 rounds, of which some are made, of a factor."""

    def make(factor: float) -> Path:
        runs = {
            name: arm(name, 8, by, seed=3).runs for name, by in (("base", 1.0), ("other", factor))
        }

        def read(path: Path) -> Run:
            return runs[path.parent.name][int(path.name)]

        monkeypatch.setattr(evidence, "read_run", read)
        names = [f"pc{number}" for number in range(boards)]
        plan = StudyPlan(
            workload=Wakeup(
                duration_ns=10**9, interval_ns=10**6, priority=80, recorder=RecorderPlan()
            ),
            boards=names,
            variants=[Variant("base"), Variant("other", {"priority": "20"})],
            loads=[LoadSet("idle", [])],
            stop=Stop("looks", [6, 8]),
        )
        with StudyJournal(directory, plan) as journal:
            for board in names:
                for number in range(made):
                    for name in runs:
                        recording = f"{name}/{number}"
                        journal.append(
                            FinishedRun(board, "idle", name, number + 1, recording, "", 1.0)
                        )
        return directory

    return make


def test_an_inconclusive_study_is_not_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = study(tmp_path / "s", monkeypatch)(1.0)
    done = run("study", "show", directory, "--json")
    (standing,) = json.loads(done.stdout)["comparisons"]
    assert standing["over"]
    assert standing["comparison"]["verdict"] == "inconclusive"
    assert done.exit_code == 3
    assert run("study", "show", directory, "--fail-on", "inconclusive").exit_code == 1
    assert run("study", "show", directory, "--fail-on", "worse").exit_code == 3


def test_a_study_fails_at_the_verdict_that_was_asked_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = study(tmp_path / "s", monkeypatch)(1.5)
    done = run("study", "show", directory, "--json")
    assert json.loads(done.stdout)["comparisons"][0]["comparison"]["verdict"] == "worse"
    assert done.exit_code == 0
    assert run("study", "show", directory, "--fail-on", "worse").exit_code == 1
    assert run("study", "show", directory, "--fail-on", "better").exit_code == 0


def test_a_study_that_is_not_over_is_not_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = study(tmp_path / "s", monkeypatch, made=3)(1.5)
    assert run("study", "show", directory, "--fail-on", "worse").exit_code == 3


def test_a_study_of_several_boards_states_that_each_is_at_5_per_cent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = study(tmp_path / "s", monkeypatch, boards=2)(1.5)
    assert f"2 comparisons, {EACH}" in run("study", "show", directory).stdout
    document = json.loads(run("study", "show", directory, "--json").stdout)
    assert document["together"] == {"comparisons": 2, "each_at": 0.05}
    assert f"2 comparisons, {EACH}" in (directory / "report.html").read_text()


def test_what_study_run_returns_is_what_study_show_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = study(tmp_path / "s", monkeypatch)(1.5)
    assert _show_end(directory, {}, (), as_json=True) == 0
    assert _show_end(directory, {"pc9": "it is gone"}, (), as_json=True) == 3
    assert _show_end(directory, {"pc9": "it is gone"}, ("worse",), as_json=True) == 1
    assert "--fail-on" in run("study", "run", "--help").stdout


def test_a_study_of_factors_is_decided_where_its_effects_are_estimated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = study(tmp_path / "s", monkeypatch)(1.0)
    plan, done = read_study(directory)
    key = evidence.Key("pc0", "idle", "other")
    standing = evidence.Evidence(directory, plan).standing(key, done)
    effects = BoardEffects("pc0", "idle", 8, [Effect(["a"], {}, 0.5)])
    assert _exit_status([standing], [effects], ()) == 0
    assert (
        _exit_status([standing], [replace(effects, why_not="two whole rounds are the least")], ())
        == 3
    )
