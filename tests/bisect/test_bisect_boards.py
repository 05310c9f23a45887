"""A bisection on two boards, of which one is lost; and two values that only act together.

The settings are variables of a program's environment: nothing of this machine is set.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from whylate.bisect.sets.carry_out import Result, bisect_sets
from whylate.bisect.sets.journal import SetsJournal
from whylate.bisect.sets.model import MadeRun
from whylate.bisect.settings.journal import LAYOUT, read_bisection
from whylate.bisect.settings.model import BisectPlan
from whylate.bisect.settings.plan import bisect_plan
from whylate.bisect.settings.provision import KnobProvisioner
from whylate.boards.board import Board, BoardError
from whylate.boards.open import BoardOptions, open_board
from whylate.run.progress import Observer, Quiet
from whylate.stats.search.model import Culprits, Hybrid
from whylate.stats.search.standing import Standing
from whylate.study.carry_out import ATTEMPTS
from whylate.study.plan_file import read_plan_file, resolve_plan

#: Takes longer unless both are "b".
PROGRAM = """\
count=20000
if [ "$V3" = b ] && [ "$V8" = b ]; then count=2000; fi
while [ $count -gt 0 ]; do count=$((count - 1)); done
"""
VALUES = 12
#: Runs after which the second board is gone.
GONE_AFTER = 9


class Silent:
    """Shows nothing."""

    def observer(self, board: str) -> Observer:
        del board
        return Quiet()

    def run_begins(self, number: int, board: str, hybrid: Hybrid) -> None:
        del number, board, hybrid

    def show_standing(self, standing: Standing) -> None:
        del standing

    def run_ends(self, made: MadeRun) -> None:
        del made

    def log(self, text: str) -> None:
        del text


def plan_of(directory: Path) -> BisectPlan:
    program = directory / "program"
    program.write_text(PROGRAM)
    lines = ["boards = ['first', 'second']", "warm_up = 'none'"]
    for variant in "ab":
        lines.append(f"[variants.{variant}]")
        lines += [f"'env:V{number}' = '{variant}'" for number in range(VALUES)]
    lines += ["[cmd]", f"command = ['sh', '{program}']", "rounds = 1"]
    path = directory / "plan.toml"
    path.write_text("\n".join(lines))
    return bisect_plan(resolve_plan(read_plan_file(path)), "CPU time", 200, 0.3)


@pytest.fixture(scope="module")
def bisection(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, list[MadeRun]]:
    """Bisect on two boards, both of which are this machine, until one cannot be reached."""
    directory = tmp_path_factory.mktemp("bisection")
    plan = plan_of(directory)
    opened = 0

    def open_for(name: str, _: tuple[str, ...]) -> Board:
        nonlocal opened
        opened += name == "second"
        if name == "second" and opened > GONE_AFTER:
            raise BoardError("it does not answer")
        return open_board("local", BoardOptions())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whylate.bisect.sets.carry_out.PAUSE_S", 0.0)
        with SetsJournal(directory / "b", LAYOUT, plan) as journal:
            result = bisect_sets(journal, KnobProvisioner(plan), open_for, Silent(), lambda: False)
    return result, read_bisection(directory / "b")[1]


def test_two_values_that_only_act_together_are_found(
    bisection: tuple[Result, list[MadeRun]],
) -> None:
    answer = bisection[0].answer
    assert isinstance(answer, Culprits), answer
    assert [effect.item for effect in answer.effects] == [3, 8]
    for way in (answer.confirmation.fast, answer.confirmation.slow):
        assert way is not None
        assert way.low is not None
        assert way.low > 0.7


def test_the_other_board_makes_the_runs_of_one_that_is_lost(
    bisection: tuple[Result, list[MadeRun]],
) -> None:
    result, runs = bisection
    assert list(result.lost) == ["second"]
    assert "it does not answer" in result.lost["second"]
    boards = [made.board for made in runs]
    assert 2 <= boards.count("second") <= GONE_AFTER
    assert set(boards[2 * GONE_AFTER + 2 * ATTEMPTS :]) == {"first"}
    assert len({made.number for made in runs}) == len(runs)
