"""A step is confirmed by fresh runs, and one that is none is not."""

from __future__ import annotations

import numpy as np
import pytest

from whylate.stats.ordered_search.confirmation import Confirmation, Pair, next_confirmation
from whylate.stats.ordered_search.events import Measured


def confirm(pair: Pair, difference: float) -> tuple[Confirmation, list[Measured]]:
    rng = np.random.default_rng([8, pair.seed])
    runs: list[Measured] = []
    while isinstance(step := next_confirmation(pair, runs), int):
        runs.append(Measured(step, difference * (step == pair.culprit) + rng.normal()))
    return step, runs


def test_a_step_is_confirmed_and_none_is_not() -> None:
    there = [confirm(Pair(4, 5, 1.0, seed=seed), 2.0)[0] for seed in range(30)]
    absent = [confirm(Pair(4, 5, 1.0, seed=seed), 0.0)[0] for seed in range(60)]
    assert all(result.confirmed for result in there)
    assert np.median([result.pairs for result in there]) < 15
    # At most 5 % are expected; 8 of 60 come once in 180 times at that.
    assert sum(result.confirmed for result in absent) < 8


def test_a_step_the_other_way_is_not_confirmed() -> None:
    result, _ = confirm(Pair(4, 5, 1.0), -3.0)
    assert not result.confirmed
    assert result.difference < 0


def test_pairs_are_whole_and_in_random_order() -> None:
    _, runs = confirm(Pair(4, 5, 1.0, max_pairs=20, alpha=1e-9), 0.0)
    pairs = [tuple(run.version for run in runs[i : i + 2]) for i in range(0, len(runs), 2)]
    assert {tuple(sorted(pair)) for pair in pairs} == {(4, 5)}
    assert len(set(pairs)) == 2
    assert len(pairs) == 20


def test_wrong_pairs_and_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="two versions"):
        Pair(4, 4, 1.0)
    with pytest.raises(ValueError, match="neither"):
        next_confirmation(Pair(4, 5, 1.0), [Measured(6, 1.0)])
