"""A bisection on two boards, of which one is lost; and two values that only act together.

The settings are variables of a program's environment: nothing of this machine is set.
"""

from __future__ import annotations

import pytest

from two_variants import bisect, plan_of
from whylate.bisect.sets.carry_out import Result
from whylate.bisect.sets.model import MadeRun
from whylate.bisect.settings.journal import read_bisection
from whylate.boards.board import Board
from whylate.boards.errors import BoardError
from whylate.boards.open import open_board
from whylate.boards.options import BoardOptions
from whylate.stats.search.model import Culprits
from whylate.study.carry_out import ATTEMPTS

pytestmark = pytest.mark.machine

#: Runs after which the second board is gone.
GONE_AFTER = 9


@pytest.fixture(scope="module")
def bisection(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, list[MadeRun]]:
    """Bisect on two boards, both of which are this machine, until one cannot be reached."""
    directory = tmp_path_factory.mktemp("bisection")
    plan = plan_of(directory, ["first", "second"], [3, 8])
    opened = 0

    def open_for(name: str, _: tuple[str, ...]) -> Board:
        nonlocal opened
        opened += name == "second"
        if name == "second" and opened > GONE_AFTER:
            raise BoardError("it does not answer")
        return open_board("local", BoardOptions())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whylate.bisect.sets.carry_out.PAUSE_S", 0.0)
        result, _ = bisect(directory / "b", plan, open_for)
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
