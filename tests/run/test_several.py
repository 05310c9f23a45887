"""Several boards side by side: what goes wrong with one does not touch the others."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from whylate.boards.board import Board
from whylate.boards.errors import BoardError
from whylate.boards.local import LocalBoard
from whylate.cli.report.latencies import show, show_several
from whylate.cli.report.outcomes import show_single
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.progress import Quiet
from whylate.run.several import Job, carry_out_rounds, phases

REQUEST = RunPlan(
    workload=Wakeup(
        duration_ns=200_000_000, interval_ns=1_000_000, priority=10, allow_idle_states=True
    ),
    cpus=[0],
)


def broken() -> Board:
    raise BoardError("the relay sticks")


def defective() -> Board:
    raise ZeroDivisionError


class Sticking(LocalBoard):
    """A board that cannot be left."""

    def close(self) -> None:
        super().close()
        raise BoardError("the relay sticks")


def job(name: str, open_board: Callable[[], Board], directory: Path) -> Job:
    return Job(name, open_board, REQUEST, directory / name, Quiet())


def test_one_board_s_failure_never_stops_the_others(tmp_path: Path) -> None:
    jobs = [
        job("a", broken, tmp_path),
        job("b", LocalBoard, tmp_path),
        job("c", defective, tmp_path),
        job("d", LocalBoard, tmp_path),
    ]
    outcomes = carry_out_rounds([[item] for item in jobs], lambda: False)
    assert [outcome.job.name for outcome in outcomes] == ["a", "b", "c", "d"]
    assert [outcome.error is None for outcome in outcomes] == [False, True, False, True]
    assert str(outcomes[0].error) == "the relay sticks"
    assert "defect of whylate: ZeroDivisionError" in str(outcomes[2].error)
    for name in ("b", "d"):
        assert open_recording(tmp_path / name).manifest.state == "complete"


def test_after_a_failure_a_board_s_further_runs_are_left_out(tmp_path: Path) -> None:
    jobs = [job("a", broken, tmp_path / "1"), job("a", LocalBoard, tmp_path / "2")]
    (outcome,) = carry_out_rounds([jobs], lambda: False)
    assert outcome.error is not None
    assert not (tmp_path / "2").exists()


def test_a_recording_is_kept_and_shown_though_leaving_the_board_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (outcome,) = carry_out_rounds([[job("a", Sticking, tmp_path)]], lambda: False)
    assert outcome.recorded
    assert show_single(outcome, partial(show, requirements=[], as_json=False)) == 3
    shown = capsys.readouterr()
    assert "200 expected" in shown.out
    assert "the relay sticks" in shown.err
    assert show_several([outcome, outcome], [], as_json=True) == 3
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [item["error"] for item in runs] == ["the relay sticks"] * 2
    assert runs[0]["expected"] == 200


def test_a_failed_requirement_has_failed_whatever_else_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = carry_out_rounds([[job("a", LocalBoard, tmp_path)], [job("b", broken, tmp_path)]],
                                lambda: False)  # fmt: skip
    assert show_several(outcomes, ["max<1ns"], as_json=False) == 1
    assert show_several(outcomes, [], as_json=False) == 3
    capsys.readouterr()


def test_runs_that_were_not_made_are_told_of(tmp_path: Path) -> None:
    jobs = [job("a", LocalBoard, tmp_path / str(number)) for number in range(3)]
    asked = itertools.count()
    # Ended while the first run is being written: it is asked once more before the second.
    outcomes = carry_out_rounds(
        [jobs], lambda: next(asked) >= 0 and (tmp_path / "0/a/manifest.json").exists()
    )
    assert [outcome.recorded for outcome in outcomes] == [True, False]
    assert "2 of 3 runs were not made" in str(outcomes[1].error)


def test_a_board_without_virtual_time_says_so(tmp_path: Path) -> None:
    virtual = RunPlan(
        workload=Wakeup(
            duration_ns=200_000_000, interval_ns=1_000_000, priority=10, allow_idle_states=True
        ),
        cpus=[0],
        virtual_time=True,
    )
    asked = Job("local", LocalBoard, virtual, tmp_path / "r", Quiet())
    (outcome,) = carry_out_rounds([[asked]], lambda: False)
    assert "local has no virtual time" in str(outcome.error)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_phases_divide_the_interval_and_each_has_a_seed_of_its_own(
    count: int, tmp_path: Path
) -> None:
    jobs = phases(job("a", LocalBoard, tmp_path), count)
    starts = [item.plan.activations.phase_ns for item in jobs if item.plan.activations]
    assert starts[0] == 0
    assert all(0 < b - a <= 1_000_000 // count + 1 for a, b in itertools.pairwise(starts))
    assert max(starts) < 1_000_000
    assert len({item.plan.seed for item in jobs}) == count
    assert len({item.directory for item in jobs}) == count
