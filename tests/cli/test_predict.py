"""`whylate predict`: exit statuses, what is printed, and JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from swept_recordings import record_clock, record_switch
from whylate.cli import whylate
from whylate.cli.explain.experiment import keep_or_warn, known_forecasts
from whylate.cli.predict.models import MODELS, NO_MODEL
from whylate.predict.store import NAME, keep_forecasts, read_forecasts
from whylate.recording.errors import DiskError
from whylate.stats.scaling.coherence import coherent_throughput

#: Of a board with a fault.
REMOVED = Path(__file__).parent.parent / "predict" / "data" / "pc-irqs-off"
COUNTS = (1, 2, 4, 8, 12)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(whylate, ["predict", *map(str, arguments)])


def record(directory: Path, **fields: str) -> None:
    record_clock(directory, {n: coherent_throughput(n, 6.0, 1.0, 0.01) for n in COUNTS},
                 noise=0.005, **fields)  # type: ignore[arg-type] # fmt: skip


def test_forecasts_are_printed_with_what_they_suppose_and_kept(tmp_path: Path) -> None:
    record(tmp_path / "a")
    done = run("clock", tmp_path / "a", "--cpus", "16,24")
    assert done.exit_code == 0, done.output
    assert "supposes" in done.output
    assert "one reading serves all who wait" in done.output
    assert [forecast.at for forecast in read_forecasts(tmp_path / "a")] == [16, 16, 16, 24, 24, 24]
    assert run("scaling", tmp_path / "a", "--threads", "16", "--no-keep").exit_code == 0
    assert len(read_forecasts(tmp_path / "a")) == 6


def test_no_model_has_its_reason_and_a_status_of_its_own(tmp_path: Path) -> None:
    ring = {2: 1200.0, 4: 1210.0, 6: 1250.0, 7: 2500.0, 8: 2500.0}
    record_switch(tmp_path / "a", ring)
    done = run("scaling", tmp_path / "a", "--tasks", "12")
    assert done.exit_code == 3
    assert "no model" in done.output
    assert not (tmp_path / "a" / NAME).exists()


def test_json_holds_forecasts_and_score(tmp_path: Path) -> None:
    record(tmp_path / "a")
    document = json.loads(run("scaling", tmp_path / "a", "--threads", "16", "--json").stdout)
    assert document["format"] == "whylate-forecasts"
    assert document["forecasts"][0]["at"] == 16
    assert document["checks"][0]["made"] == len(COUNTS)
    waiting = run("--score", tmp_path, "--json")
    assert waiting.exit_code == 3
    assert json.loads(waiting.stdout)["waiting"] == 1


def test_a_new_run_shows_what_was_predicted_of_it(tmp_path: Path) -> None:
    record(tmp_path / "a")
    assert run("clock", tmp_path / "a", "--cpus", "16").exit_code == 0
    early = [replace(forecast, created="2026-01-02T00:00:00+00:00")
             for forecast in read_forecasts(tmp_path / "a")]  # fmt: skip
    (tmp_path / "a" / NAME).unlink()
    keep_forecasts(tmp_path / "a", early)
    measured = coherent_throughput(16, 6.0, 1.0, 0.01)
    record_clock(tmp_path / "b", {16: measured}, created="2026-01-03T00:00:00+00:00")
    done = CliRunner().invoke(whylate, ["report", str(tmp_path / "b")])
    assert "predicted before, and measured now" in done.output
    assert "1 of 1 intervals held" in done.output
    score = run("--score", tmp_path)
    assert score.exit_code == 0
    assert "1 of 1 intervals held, 100 %" in score.output
    assert "3 forecasts; 2 have no later measurement on the same board." in score.output


def test_forecasts_that_cannot_be_kept_are_printed_and_the_reason_says_what_to_do(
    tmp_path: Path,
) -> None:
    record(tmp_path / "a")
    shutil.copytree(REMOVED, tmp_path / "b")
    for name in ("a", "b"):
        (tmp_path / name / NAME).mkdir()
    for words, shown in (
        (("clock", tmp_path / "a", "--cpus", "16"), "one reading serves all"),
        (("scaling", tmp_path / "a", "--threads", "16"), "universal scalability law"),
        (("without", "[irqs_off]", tmp_path / "b"), "another run, 95 %"),
    ):
        done = run(*words)
        assert isinstance(done.exception, DiskError)
        assert "--no-keep prints them alone" in str(done.exception)
        assert shown in done.output
        assert run(*words, "--no-keep").exit_code == 0


def test_an_experiment_goes_on_with_a_forecast_that_cannot_be_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path / "a")
    run("scaling", tmp_path / "a", "--threads", "16")
    made = read_forecasts(tmp_path / "a")
    assert keep_or_warn(tmp_path / "a", made) == []
    assert known_forecasts(tmp_path / "a", []) == made * 2
    (tmp_path / "a" / NAME).unlink()
    (tmp_path / "a" / NAME).mkdir()
    unkept = keep_or_warn(tmp_path / "a", made)
    assert unkept == made
    assert known_forecasts(tmp_path / "a", unkept) == made
    first, second = capsys.readouterr().err.splitlines()
    assert "cannot be written" in first
    assert "is not kept" in first
    assert "earlier forecasts are not shown" in second


def test_use_without_a_verb_or_with_both_is_wrong(tmp_path: Path) -> None:
    assert run().exit_code == 2
    record(tmp_path / "a")
    assert run("--score", tmp_path, "clock", tmp_path / "a", "--cpus", "2").exit_code == 2
    assert run("clock", tmp_path / "a").exit_code == 2


@pytest.mark.parametrize("change", ["faster-clock", "faster-timer", "irq-cpu"])
def test_a_change_without_a_model_says_so_and_what_measures_it(change: str) -> None:
    done = run("models", change)
    assert done.exit_code == 3
    assert f"{change:<12}  no model: " in done.output
    assert "measure both: whylate" in done.output


def test_a_change_with_a_model_names_its_verb_and_all_are_listed() -> None:
    done = run("models", "chunks")
    assert (done.exit_code, "whylate predict chunk" in done.output) == (0, True)
    done = run("models")
    assert (done.exit_code, done.output.count("no model: ")) == (0, 3)
    assert run("models", "nothing").exit_code == 2


def test_models_as_json_have_a_verb_or_why_there_is_none() -> None:
    done = run("models", "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["format"], document["version"]) == (0, "whylate-models", 1)
    rows = {row.pop("change"): row for row in document["changes"]}
    assert list(rows) == [*MODELS, *NO_MODEL]
    for name, row in rows.items():
        there = ("verb", "predicts") if name in MODELS else ("why_not", "instead")
        assert {key for key, text in row.items() if text} == set(there)
    assert all(row["verb"].startswith("whylate predict ") for row in rows.values() if row["verb"])
    (one,) = json.loads(run("models", "irq-cpu", "--json").stdout)["changes"]
    assert one == {"change": "irq-cpu", **rows["irq-cpu"]}
    assert one["instead"].startswith("whylate study run")
    assert run("models", "irq-cpu", "--json").exit_code == 3
