"""Two rates of rare events are compared after every pair, and err as stated."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from whylate.stats.comparison.rarer_side import ALPHA, decide, least_counts


def test_six_to_none_is_called_and_three_to_three_is_not() -> None:
    assert decide(0, 6) == "second"
    assert decide(6, 0) == "first"
    assert decide(0, 5) is None
    assert decide(3, 3) is None
    assert decide(0, 0) is None


def wrong_by(events: int, alpha: float) -> float:
    """The exact chance to decide within so many events, if there is no difference: all paths."""
    undecided, wrong = {(0, 0): 1.0}, 0.0
    for _ in range(events):
        following: dict[tuple[int, int], float] = {}
        for (first, second), chance in undecided.items():
            for state in ((first + 1, second), (first, second + 1)):
                if decide(*state, alpha) is not None:
                    wrong += chance / 2
                else:
                    following[state] = following.get(state, 0.0) + chance / 2
        undecided = following
    return wrong


@pytest.mark.parametrize("alpha", [ALPHA, 0.01, 0.2])
def test_looks_after_every_event_err_in_alpha_together(alpha: float) -> None:
    wrong = wrong_by(150, alpha)
    assert 0.5 * alpha < wrong < alpha


def test_at_six_to_none_the_chance_is_that_of_six_coins() -> None:
    assert wrong_by(6, ALPHA) == pytest.approx(2 / 2**6)
    assert wrong_by(5, ALPHA) == 0


def test_the_boundary_rises_and_does_not_depend_on_how_far_it_is_asked_for() -> None:
    least = least_counts(80)
    assert all(b > a for a, b in pairwise(least))
    assert all(count > rarer for rarer, count in enumerate(least))
    assert least_counts(20) == least[:21]
    # About as steep as a walk: never so far that nothing is ever decided.
    assert least[80] < 2 * 80


def test_a_side_that_is_four_times_as_bad_is_found() -> None:
    rng = np.random.default_rng(1)
    named = {"first": 0, "second": 0, None: 0}
    for _ in range(300):
        first, second, answer = 0, 0, None
        for _ in range(60):
            is_second = rng.random() < 0.8
            first, second = first + (not is_second), second + is_second
            if (answer := decide(first, second)) is not None:
                break
        named[answer] += 1
    assert named["second"] > 280
    assert named["first"] <= 3


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        decide(-1, 3)
