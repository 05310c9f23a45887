"""Where a study stands: what is looked at when, and what that decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from compare_sides import arm
from whylate.compare.runs import Run
from whylate.study import evidence
from whylate.study.evidence import Evidence, Key
from whylate.study.model import Done, LoadSet, Stop, StudyPlan, Variant

ROUNDS = 8
KEY = Key("pc", "idle", "other")


def plan(stop: Stop, **knobs: str) -> StudyPlan:
    return StudyPlan(
        boards=["pc"],
        variants=[Variant("base"), Variant("other", knobs or {"priority": "20"})],
        loads=[LoadSet("idle", [])],
        stop=stop,
        duration_ns=10**9,
        interval_ns=10**6,
    )


def done(rounds: int = ROUNDS) -> list[Done]:
    return [
        Done("pc", "idle", name, number, f"{name}/{number - 1}", f"{number}", 1.0)
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
    found = [study.of(KEY, done(rounds)) for rounds in range(1, ROUNDS + 1)]
    for one in found:
        assert one.e_value is not None
        assert one.e_value < 20
        assert one.found is not None
        assert one.found.verdict in ("inconclusive", "no verdict")
    assert [one.over for one in found] == [False] * (ROUNDS - 1) + [True]
    last = found[-1].found
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
        one for rounds in range(2, ROUNDS + 1) if (one := study.of(KEY, done(rounds))).over
    )
    assert first.rounds < ROUNDS
    assert first.e_value is not None
    assert first.e_value >= 20
    assert first.found is not None
    assert first.found.verdict == "worse"
    # What was decided is not looked at again.
    assert study.of(KEY, done()) == first


def test_between_two_looks_it_is_not_looked_at(made_up: Callable[..., None]) -> None:
    made_up(1.0)
    study = Evidence(Path("study"), plan(Stop("looks", [6, 8])))
    assert study.of(KEY, done(5)).found is None
    at_six = study.of(KEY, done(6))
    assert (at_six.look, at_six.over) == (6, False)
    assert study.of(KEY, done(7)).found == at_six.found
    assert study.of(KEY, done(8)).over


def test_two_kernels_of_a_board_are_compared_boot_by_boot_and_the_difference_is_told(
    made_up: Callable[..., None],
) -> None:
    def booted(side: str, run: Run) -> Run:
        board = "pc-rt" if side == "other" else "pc"
        return replace(run, boot=run.name, beside={"board": board, "load": "none"})

    made_up(0.5, change=booted)
    study = Evidence(Path("study"), plan(Stop("runs", [6]), kernel="rt"))
    found = study.of(KEY, done(6)).found
    assert found is not None
    assert (found.verdict, found.scope) == ("better", "boots")
    assert (found.first.boots, found.second.boots) == (6, 6)
    assert found.cautions == ["board is pc in base and pc-rt in other"]
