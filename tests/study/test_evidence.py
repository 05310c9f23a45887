"""Where a study stands: what is looked at when, and what that decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from compare_sides import arm
from whylate.compare.judge import compare
from whylate.compare.model import Question
from whylate.compare.runs import Arm, Run
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.study.mark import study_above
from whylate.study.model import FinishedRun, LoadSet, Stop, StudyPlan, Variant
from whylate.study.results import evidence, interim_looks
from whylate.study.results.evidence import Evidence, Key
from whylate.study.results.interim_looks import allow_interim_look

ROUNDS = 8
KEY = Key("pc", "idle", "other")


def plan(stop: Stop, **knobs: str) -> StudyPlan:
    return StudyPlan(
        workload=Wakeup(duration_ns=10**9, interval_ns=10**6, priority=80, recorder=RecorderPlan()),
        boards=["pc"],
        variants=[Variant("base"), Variant("other", knobs or {"priority": "20"})],
        loads=[LoadSet("idle", [])],
        stop=stop,
    )


def done(rounds: int = ROUNDS) -> list[FinishedRun]:
    return [
        FinishedRun("pc", "idle", name, number, f"{name}/{number - 1}", f"{number}", 1.0)
        for number in range(1, rounds + 1)
        for name in ("base", "other")
    ]


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let recordings be those of two sides that differ by a factor."""

    def make(
        factor: float, sd: float = 0.05, change: Callable[[str, Run], Run] | None = None
    ) -> None:
        runs = {
            name: arm(name, 20, by, seed=3, sd=sd).runs
            for name, by in (("base", 1.0), ("other", factor))
        }

        def read(path: Path) -> Run:
            run = runs[path.parent.name][int(path.name)]
            return change(path.parent.name, run) if change is not None else run

        monkeypatch.setattr(evidence, "read_run", read)

    return make


def test_at_any_time_it_is_not_over_before_the_evidence_is_twentyfold(
    made_up: Callable[..., None],
) -> None:
    made_up(1.08)
    study = Evidence(Path("study"), plan(Stop("anytime", [ROUNDS])))
    result = [study.standing(KEY, done(rounds)) for rounds in range(1, ROUNDS + 1)]
    for item in result:
        assert item.e_value is not None
        assert item.e_value < 20
        assert item.comparison is not None
        assert item.comparison.verdict in ("inconclusive", "no verdict")
    assert [item.over for item in result] == [False] * (ROUNDS - 1) + [True]
    last = result[-1].comparison
    assert last is not None
    # A test at 5 % of these runs alone would have called it.
    assert last.p is not None
    assert last.p <= 0.05
    assert last.within == "worse"
    assert last.verdict == "inconclusive"
    assert "the e-value is" in last.why
    assert "20 would show it" in last.why


def test_at_any_time_it_is_over_once_the_evidence_is_twentyfold(
    made_up: Callable[..., None],
) -> None:
    made_up(2.0)
    study = Evidence(Path("study"), plan(Stop("anytime", [ROUNDS])))
    first = next(
        item for rounds in range(2, ROUNDS + 1) if (item := study.standing(KEY, done(rounds))).over
    )
    assert first.rounds < ROUNDS
    assert first.e_value is not None
    assert first.e_value >= 20
    assert first.comparison is not None
    assert first.comparison.verdict == "worse"
    # What was decided is not looked at again.
    assert study.standing(KEY, done()) == first


def test_between_two_looks_it_is_not_looked_at(made_up: Callable[..., None]) -> None:
    made_up(1.0)
    study = Evidence(Path("study"), plan(Stop("looks", [6, 8])))
    assert study.standing(KEY, done(5)).comparison is None
    at_six = study.standing(KEY, done(6))
    assert (at_six.look, at_six.over) == (6, False)
    assert study.standing(KEY, done(7)).comparison == at_six.comparison
    assert study.standing(KEY, done(8)).over


def test_two_kernels_of_a_board_are_compared_boot_by_boot_and_the_difference_is_told(
    made_up: Callable[..., None],
) -> None:
    def booted(side: str, run: Run) -> Run:
        board = "pc-rt" if side == "other" else "pc"
        return replace(run, boot=run.name, beside={"board": board, "load": "none"})

    made_up(0.5, change=booted)
    study = Evidence(Path("study"), plan(Stop("runs", [6]), kernel="rt"))
    result = study.standing(KEY, done(6)).comparison
    assert result is not None
    assert (result.verdict, result.scope) == ("better", "boots")
    assert (result.first.boots, result.second.boots) == (6, 6)
    assert result.cautions == ["board is pc in base and pc-rt in other"]


def test_who_fails_more_often_is_not_better_for_the_rest(made_up: Callable[..., None]) -> None:
    made_up(0.5)
    study_plan = plan(Stop("runs", [ROUNDS]))
    fell = [FinishedRun("pc", "idle", "other", 1, "", "0", 1.0, failed="it panicked")] * 6
    result = Evidence(Path("study"), study_plan).standing(KEY, [*fell, *done()]).comparison
    assert result is not None
    assert result.verdict == "no verdict"
    assert any("6 runs of other failed and were made again: it panicked" in item
               for item in result.cautions)  # fmt: skip
    once = Evidence(Path("study"), study_plan).standing(KEY, [fell[0], *done()]).comparison
    assert once is not None
    assert once.verdict == "better"
    assert any("1 run of other failed and was made again" in item for item in once.cautions)


def test_no_number_of_runs_decides_before_the_next_look(made_up: Callable[..., None]) -> None:
    made_up(1.08)
    at_six = Evidence(Path("study"), plan(Stop("looks", [6, 12]))).standing(KEY, done(6)).comparison
    assert at_six is not None
    assert at_six.verdict == "inconclusive"
    assert at_six.more_runs is not None
    assert at_six.more_runs >= 6


def test_whoever_looks_past_the_rule_has_no_verdict(
    made_up: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made_up(1.08)
    recording = tmp_path / "runs" / "pc" / "idle" / "other" / "1"
    recording.mkdir(parents=True)
    assert study_above([recording]) is None
    (tmp_path / "study.json").write_text("{}")
    assert study_above([Path("nowhere"), recording]) == tmp_path
    # Once all is looked at that the rule has, or before.
    for rounds, over in ((6, False), (12, True)):
        known = plan(Stop("looks", [6, 12])), done(rounds)
        monkeypatch.setattr(interim_looks, "read_study", lambda _, known=known: known)
        study = Evidence(tmp_path, known[0])
        assert study.standing(KEY, known[1]).over == over
        sides = [Arm(name, tuple(runs.values()))
                 for name, runs in study.runs("pc", "idle", known[1]).items()]  # fmt: skip
        by_hand = compare(sides[0], sides[1], Question())
        assert by_hand.verdict == "worse"
        output = allow_interim_look(by_hand, tmp_path, accept=False)
        assert output.verdict == ("worse" if over else "no verdict")
        accepted = allow_interim_look(by_hand, tmp_path, accept=True)
        assert accepted.verdict == "worse"
        assert "whylate study show" in accepted.cautions[-1]
