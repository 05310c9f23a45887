"""The score: a forecast counts where a later run of the same board measured what it is about."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from swept_recordings import record_clock, record_forms
from whylate.predict.forecast import Forecast
from whylate.predict.score import match_forecasts, score_forecasts
from whylate.predict.shared_device import predict_shared_device
from whylate.predict.store import forecasts_beside, keep_forecasts
from whylate.predict.workloads.clock import SHARED, STRICT
from whylate.recording.errors import RecordingError
from whylate.recording.moments import now_text
from whylate.recording.reader import Recording
from whylate.run import record
from whylate.stats.scaling.coherence import coherent_shared_throughput, coherent_throughput
from whylate.stats.shared_readings import strict_throughput
from whylate.study.model import FinishedRun
from whylate.study.results.forecasts import study_outcomes

COUNTS = (1, 2, 3, 4, 6, 8)
BEFORE, MADE, AFTER = (f"2026-01-0{day}T00:00:00+00:00" for day in (1, 2, 3))


def network(n: int) -> float:
    """Return the calls per µs of the CPUs that are recorded here."""
    return coherent_throughput(n, 6.0, 1.0, 0.01)


def record_first(directory: Path) -> Recording:
    """Write the recording that forecasts are made from."""
    return record_clock(directory, {n: network(n) for n in COUNTS}, created=BEFORE, noise=0.01)


@pytest.fixture(scope="module")
def forecasts(tmp_path_factory: pytest.TempPathFactory) -> list[Forecast]:
    """Return forecasts for 12, 16 and 32 CPUs, of each kind."""
    recording = record_first(tmp_path_factory.mktemp("forecasts") / "first")
    made = predict_shared_device(recording, (12, 16, 32)).forecasts
    return [replace(forecast, created=MADE) for forecast in made]


@pytest.fixture
def folder(tmp_path: Path, forecasts: list[Forecast]) -> Path:
    """Return a folder with a recording that has these forecasts."""
    keep_forecasts(record_first(tmp_path / "first").directory, forecasts)
    return tmp_path


def test_what_was_measured_later_stands_beside_the_forecast(folder: Path) -> None:
    record_clock(folder / "second", {12: network(12), 16: 3 * network(16)}, created=AFTER)
    score = score_forecasts(folder)
    assert score.made == 9
    assert score.waiting == 7
    assert {(out.forecast.at, out.holds) for out in score.outcomes} == {(12, True), (16, False)}
    assert score.held == 1
    assert score.low is not None
    assert score.high is not None
    assert score.low < 0.5 < score.high


@pytest.mark.parametrize("created", [BEFORE, MADE])
def test_what_was_measured_before_the_forecast_does_not_count(folder: Path, created: str) -> None:
    record_clock(folder / "second", {12: network(12)}, created=created)
    assert score_forecasts(folder).outcomes == []


def test_shared_readings_are_scored_by_what_was_shared(tmp_path: Path) -> None:
    direct = {n: network(n) for n in COUNTS}
    first = record_forms(tmp_path / "first", {"direct": direct}, created=BEFORE)
    made = predict_shared_device(first, (16,)).forecasts
    keep_forecasts(first.directory, [replace(forecast, created=MADE) for forecast in made])
    shared = coherent_shared_throughput(16, 6.0, 1.0, 0.01)
    strict = coherent_shared_throughput(16, 6.0, 1.0, 0.01, strict_throughput)
    record_forms(
        tmp_path / "second",
        {
            "direct": {16: network(16)},
            "relaxed": {16: shared},
            "strict": {16: strict},
            "locked": {16: 1e-3},
        },
        created=AFTER,
    )
    score = score_forecasts(tmp_path)
    measured = {out.forecast.change: out.measured for out in score.outcomes}
    assert measured == pytest.approx({"": network(16), SHARED: shared, STRICT: strict}, rel=1e-3)
    assert (score.waiting, score.held) == (0, 3)


def test_a_run_in_the_second_of_its_forecast_counts(
    tmp_path: Path, forecasts: list[Forecast]
) -> None:
    moments = []
    for _ in range(3):
        moments.append(now_text())
        time.sleep(0.002)
    made, begun, later = moments
    run = record_clock(tmp_path / "second", {12: network(12)}, created=begun)
    both = [replace(forecasts[0], created=created) for created in (made, later)]
    (outcome,) = match_forecasts(both, [run])
    assert outcome.forecast.created == made


def test_a_run_has_milliseconds_as_forecasts_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "facts", lambda *_: [])
    board: Any = SimpleNamespace(version="1", arch="x", sha256="", clock_resolution_ns=1,
                                 clock_read_ns=1)  # fmt: skip
    plan: Any = None
    before = datetime.now(UTC)
    opened = record.opening("b", board, plan, board, board, board)
    begun = datetime.fromisoformat(opened.created)
    assert -0.002 < (begun - before).total_seconds() < 60
    assert len(opened.created) == len("2026-01-01T00:00:00.000+00:00")


def test_another_board_does_not_count(folder: Path) -> None:
    second = record_clock(folder / "second", {12: network(12)}, created=AFTER)
    elsewhere = replace(second.manifest, board="another")
    forecasts = forecasts_beside(second.directory)
    assert len(forecasts) == 9
    assert len(match_forecasts(forecasts, [second])) == 1
    assert match_forecasts(forecasts, [type(second)(second.directory, elsewhere)]) == []


def test_of_repeated_forecasts_the_last_counts(folder: Path, forecasts: list[Forecast]) -> None:
    again = forecasts[0]

    def at(created: str, value: float) -> Forecast:
        return replace(again, created=created, value=value, low=value, high=value)

    keep_forecasts(
        folder / "first", [at(f"2026-01-02T0{hour}:00:00+00:00", hour) for hour in (1, 2)]
    )
    record_clock(folder / "second", {12: network(12)}, created=AFTER)
    (outcome,) = score_forecasts(folder).outcomes
    assert outcome.forecast.value == 2


def test_a_damaged_recording_is_named_and_the_others_count(folder: Path) -> None:
    record_clock(folder / "second", {12: network(12)}, created=AFTER)
    (folder / "third").mkdir()
    (folder / "third" / "manifest.json").write_text("{")
    score = score_forecasts(folder)
    assert len(score.outcomes) == 1
    assert list(score.unread) == [str(folder / "third")]


def test_a_directory_without_recordings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="has no recordings"):
        score_forecasts(tmp_path)


def test_runs_of_a_study_are_reached(folder: Path) -> None:
    deep = folder / "studies" / "s" / "runs" / "b" / "idle" / "base" / "1"
    record_clock(deep, {12: network(12)}, created=AFTER)
    assert len(score_forecasts(folder).outcomes) == 1


def test_a_study_shows_what_was_predicted_of_its_runs(folder: Path) -> None:
    study = folder / "s"
    record_clock(study / "runs" / "1", {12: network(12)}, created=AFTER)
    done = [
        FinishedRun("b", "idle", "base", 1, "runs/1", AFTER, 1.0),
        FinishedRun("b", "idle", "base", 2, "runs/2", AFTER, 1.0, failed="no power"),
    ]
    (outcome,) = study_outcomes(study, done)
    assert (outcome.forecast.at, outcome.holds) == (12, True)
    (folder / "elsewhere").mkdir()
    assert study_outcomes(folder / "elsewhere" / "s", done) == []
