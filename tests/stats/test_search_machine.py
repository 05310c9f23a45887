"""The search among differences: what it asks for, what it answers, and that it can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from whylate.stats.search.machine import advance
from whylate.stats.search.model import (
    Answer,
    Culprits,
    ExplainsPart,
    GapTooSmall,
    Hybrid,
    NoGap,
    NotAmong,
    Problem,
    Purpose,
    Run,
    Undecided,
)

Outcome = Callable[[Hybrid], float | None]
ITEMS = 40


def bench(
    seed: int, closed: Callable[[np.ndarray, bool], float | None], gap: float = 6.0
) -> Outcome:
    """Simulate runs: closed says how much of the gap a hybrid closes, None: it does not run."""
    rng = np.random.default_rng(seed)

    def run(hybrid: Hybrid) -> float | None:
        noise = rng.standard_t(3) / np.sqrt(3)
        level = closed(hybrid.in_force, hybrid.fast_base)
        return None if level is None else float(gap * level + noise)

    return run


def carry_out(
    problem: Problem, run: Outcome, history: list[Run] | None = None
) -> tuple[Answer, list[Run]]:
    history = [] if history is None else history
    while isinstance(answer := advance(problem, history), tuple):
        assert answer
        assert len(history) < problem.budget + 40
        history += [Run(each, each.in_force, run(each), each.board) for each in answer]
    return answer, history


def items_of(answer: Answer) -> set[int]:
    assert isinstance(answer, Culprits | ExplainsPart), answer
    return {effect.item for effect in answer.effects}


def test_a_culprit_is_named_with_its_effect_and_both_confirmations() -> None:
    answer, history = carry_out(
        Problem(ITEMS, seed=1), bench(1, lambda fast, _: float(fast[17])), None
    )
    assert isinstance(answer, Culprits)
    assert items_of(answer) == {17}
    share = answer.effects[0].share
    assert share.low is not None
    assert share.low < 1.0 < (share.high or 0)
    for side in (answer.confirmation.fast, answer.confirmation.slow):
        assert side is not None
        assert side.low is not None
        assert 0.7 < side.value < 1.3
        assert side.low < side.value
    confirmed = [run for run in history if run.planned.purpose is Purpose.CONFIRM]
    assert answer.confirmation.runs == len(confirmed)
    # Both directions are hybrids of their own: slow but for the item, and fast but for it.
    assert {int(run.in_force.sum()) for run in confirmed} == {1, ITEMS - 1}
    assert 4 < answer.gap.in_sd < 9


def test_both_ends_come_first_and_ten_times() -> None:
    _, history = carry_out(Problem(ITEMS, seed=2), bench(2, lambda fast, _: float(fast[0])))
    first = [run.planned for run in history[:20]]
    assert {hybrid.purpose for hybrid in first} == {Purpose.END}
    assert sum(hybrid.fast_base for hybrid in first) == 10
    assert all(first[at].fast_base != first[at + 1].fast_base for at in range(0, 20, 2))


def test_a_plan_that_was_killed_goes_on_from_its_journal() -> None:
    problem = Problem(ITEMS, seed=3)
    _, history = carry_out(problem, bench(3, lambda fast, _: float(fast[5] and fast[30])))
    for length in (7, 25, 40, len(history) - 5):
        prefix = history[:length]
        again, same = advance(problem, prefix), advance(problem, list(prefix))
        assert isinstance(again, tuple)
        assert isinstance(same, tuple)
        assert [hybrid.in_force.tolist() for hybrid in again] == [
            hybrid.in_force.tolist() for hybrid in same
        ]
        answer, _ = carry_out(problem, bench(4, lambda fast, _: float(fast[5] and fast[30])),
                              list(prefix))  # fmt: skip
        assert items_of(answer) == {5, 30}


def test_a_loss_is_searched_as_a_gain() -> None:
    answer, _ = carry_out(Problem(ITEMS, seed=5), bench(5, lambda fast, _: float(fast[3]), gap=-6))
    assert items_of(answer) == {3}
    assert isinstance(answer, Culprits)
    assert answer.gap.estimate.value < 0


def test_runs_without_noise_are_searched() -> None:
    def exact(hybrid: Hybrid) -> float:
        return 0.42 * bool(hybrid.in_force[8]) + 0.58 * bool(hybrid.in_force[9])

    answer, _ = carry_out(Problem(ITEMS, seed=6), exact)
    assert isinstance(answer, Culprits)
    assert {effect.item: round(effect.share.value, 3) for effect in answer.effects} == {
        8: 0.42, 9: 0.58,
    }  # fmt: skip


def test_no_gap_and_a_small_gap_are_said() -> None:
    answer, history = carry_out(Problem(ITEMS, seed=7), bench(7, lambda *_: 0.0))
    assert isinstance(answer, NoGap)
    assert len(history) == 40
    assert answer.gap.estimate.low is not None
    assert answer.gap.estimate.low < 0 < (answer.gap.estimate.high or 0)
    small = bench(8, lambda fast, _: float(fast[3]), gap=1.6)
    answer, _ = carry_out(Problem(ITEMS, seed=8, budget=60), small)
    assert isinstance(answer, GapTooSmall)
    assert answer.needed > 100


def test_a_gap_in_none_of_the_differences_is_said() -> None:
    answer, _ = carry_out(Problem(ITEMS, seed=9), bench(9, lambda _, base: float(base)))
    assert isinstance(answer, NotAmong)


@pytest.mark.parametrize("culprits", [(3, 8), (5, 17, 30)])
def test_culprits_that_need_each_other_are_found_where_all_hybrids_have_one_base(
    culprits: tuple[int, ...],
) -> None:
    """What differs beside the items is never exchanged then, and is not taken for another one."""
    problem = Problem(ITEMS, seed=11, both_bases=False)
    answer, history = carry_out(
        problem, bench(11, lambda fast, _: float(all(fast[item] for item in culprits)))
    )
    assert items_of(answer) == set(culprits)
    assert isinstance(answer, Culprits)
    assert len(history) < 160


def test_a_gap_in_none_of_them_is_said_with_hybrids_on_the_slow_side_alone() -> None:
    problem = Problem(ITEMS, seed=10, both_bases=False)
    answer, history = carry_out(problem, bench(10, lambda _, base: float(base)))
    assert isinstance(answer, NotAmong)
    assert answer.confirmation.fast is None
    hybrids = [run for run in history if run.planned.purpose is not Purpose.END]
    assert not any(run.planned.fast_base for run in hybrids)


def test_what_an_item_explains_beside_the_rest_is_measured() -> None:
    answer, _ = carry_out(
        Problem(ITEMS, seed=11),
        bench(11, lambda fast, base: 0.62 * bool(fast[4]) + 0.38 * base, gap=8),
    )
    assert isinstance(answer, ExplainsPart)
    assert items_of(answer) == {4}
    assert answer.share.low is not None
    assert answer.share.low < 0.62 < (answer.share.high or 0)


def test_items_that_never_run_apart_become_one_atom() -> None:
    def parted(fast: np.ndarray, _base: bool) -> float | None:
        return None if fast[2] != fast[33] else float(fast[20])

    answer, history = carry_out(Problem(ITEMS, seed=12), bench(12, parted))
    assert items_of(answer) == {20}
    late = [run for run in history[60:] if run.planned.purpose is not Purpose.END]
    assert sum(run.outcome is None for run in late) <= 2

    def culprit(fast: np.ndarray, _base: bool) -> float | None:
        return None if fast[2] != fast[33] else float(fast[33])

    answer, _ = carry_out(Problem(ITEMS, seed=13), bench(13, culprit))
    assert isinstance(answer, Culprits)
    assert answer.atoms == ((2, 33),)


def test_an_item_that_no_board_sets_is_said_to_belong_to_the_rest() -> None:
    problem = Problem(ITEMS, seed=20)
    run = bench(20, lambda _, base: float(base))
    history: list[Run] = []
    while isinstance(answer := advance(problem, history), tuple):
        for each in answer:
            really = each.in_force.copy()
            really[5] = each.fast_base
            history.append(Run(each, really, run(each), each.board))
    assert isinstance(answer, NotAmong)
    assert answer.not_set == (5,)


def test_a_set_whose_own_hybrid_does_not_run_is_confirmed_beside_others() -> None:
    def alone(fast: np.ndarray, _base: bool) -> float | None:
        return None if fast[20] and fast.sum() == 1 else float(fast[20])

    answer, _ = carry_out(Problem(ITEMS, seed=14), bench(14, alone))
    assert items_of(answer) == {20}


def test_an_end_that_does_not_run_ends_the_search() -> None:
    answer, history = carry_out(
        Problem(ITEMS, seed=15), bench(15, lambda fast, _: None if fast.all() else 0.0)
    )
    assert isinstance(answer, Undecided)
    assert answer.reason == "an end does not run"
    assert len(history) < 60


@pytest.mark.parametrize("budget", [5, 20, 59, 90])
def test_a_bench_on_which_no_hybrid_runs_is_no_culprit(budget: int) -> None:
    def ends_alone(fast: np.ndarray, base: bool) -> float | None:
        return float(base) if fast.all() == fast.any() == base else None

    answer, history = carry_out(Problem(ITEMS, seed=21, budget=budget), bench(21, ends_alone))
    assert isinstance(answer, Undecided | GapTooSmall), answer
    assert len(history) <= budget + 8


def test_the_budget_ends_it_with_the_most_probable_sets() -> None:
    answer, history = carry_out(
        Problem(ITEMS, seed=16, budget=57), bench(16, lambda fast, _: fast[:12].mean(), gap=40)
    )
    assert isinstance(answer, Undecided)
    assert "57 runs" in answer.reason
    assert len(history) <= 60
    chances = [candidate.probability for candidate in answer.candidates]
    assert chances == sorted(chances, reverse=True)


def test_groups_are_opened_down_to_the_line() -> None:
    lines = np.arange(400)
    groups = np.column_stack([lines // 40, lines // 8])
    problem = Problem(400, seed=17, groups=groups)
    answer, history = carry_out(problem, bench(17, lambda fast, _: float(fast[123])))
    assert items_of(answer) == {123}
    # As long as its package is closed, all lines of one are on one side.
    first = next(run for run in history if run.planned.purpose is Purpose.SCREEN)
    assert all(len(set(first.in_force[at : at + 40].tolist())) == 1 for at in range(0, 400, 40))


def test_a_set_that_fresh_runs_do_not_bear_out_is_left() -> None:
    problem = Problem(ITEMS, seed=22)
    half = bench(22, lambda fast, _: 0.5 * bool(fast[17]) + 0.5 * bool(fast[30]))
    alone = bench(22, lambda fast, _: float(fast[17]))
    history: list[Run] = []
    while isinstance(answer := advance(problem, history), tuple):
        # As long as it screens, an item looks like the whole answer; when it confirms, it is half.
        confirms = any(run.planned.target for run in history) or bool(answer[0].target)
        run = half if confirms else alone
        history += [Run(each, each.in_force, run(each), each.board) for each in answer]
    assert (17,) in {run.planned.target for run in history}
    assert not (isinstance(answer, Culprits) and items_of(answer) == {17}), answer
    # The search goes on with other hybrids than those of the set.
    last = max(at for at, run in enumerate(history) if run.planned.target == (17,))
    assert any(run.planned.purpose is Purpose.SCREEN for run in history[last:])


def test_boards_share_the_runs() -> None:
    problem = Problem(ITEMS, seed=18, boards=3)
    plain = bench(18, lambda fast, _: float(fast[11]))

    def offset(hybrid: Hybrid) -> float | None:
        outcome = plain(hybrid)
        return None if outcome is None else outcome + 10.0 * hybrid.board

    answer, history = carry_out(problem, offset)
    assert items_of(answer) == {11}
    assert {run.board for run in history} == {0, 1, 2}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"items": 0}, "1 or more"),
        ({"margin": 0.6}, "a margin of 0.6"),
        ({"weight": np.ones(3)}, "weight has 3 rows"),
        ({"weight": np.zeros(ITEMS)}, "every weight is positive"),
    ],
)
def test_a_problem_that_makes_no_sense_is_refused(change: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        replace(Problem(ITEMS, seed=1), **change)  # type: ignore[arg-type]


def test_a_plan_that_was_killed_within_a_confirmation_looks_at_it() -> None:
    problem = Problem(ITEMS, seed=3)
    run = bench(3, lambda fast, _: float(fast[5] and fast[30]))
    _, history = carry_out(problem, run)
    first = next(
        at for at, each in enumerate(history) if each.planned.purpose is Purpose.CONFIRM
    )  # fmt: skip
    for more in (1, 2, 3):
        _, longer = carry_out(problem, run, history[: first + more])
        assert len(longer) < len(history) + 40
