"""Shifts between runs: the published tables of the tests that they invert, and their coverage."""

from __future__ import annotations

import numpy as np
import pytest

from whylate.stats.comparison.shifts import paired_shift, unpaired_shift

#: Two-sided critical values at 5 % (Wilcoxon's T, Mann and Whitney's U), as tables have them.
SIGNED_RANK = {6: 0, 7: 2, 8: 3, 10: 8, 15: 25, 20: 52}
RANK_SUM = {(4, 4): 0, (5, 5): 2, (6, 6): 5, (8, 10): 17, (10, 10): 23, (15, 20): 90}


@pytest.mark.parametrize(("n", "critical"), SIGNED_RANK.items())
def test_intervals_in_pairs_are_those_of_the_table(n: int, critical: int) -> None:
    differences = np.sort(np.random.default_rng(n).standard_normal(n))
    middles = np.sort([(a + b) / 2 for i, a in enumerate(differences) for b in differences[i:]])
    found = paired_shift(differences)
    assert found.low == pytest.approx(middles[critical])
    assert found.high == pytest.approx(middles[-1 - critical])
    assert found.value == pytest.approx(np.median(middles))


@pytest.mark.parametrize(("sizes", "critical"), RANK_SUM.items())
def test_intervals_between_sets_are_those_of_the_table(
    sizes: tuple[int, int], critical: int
) -> None:
    rng = np.random.default_rng(1)
    first, second = rng.standard_normal(sizes[0]), rng.standard_normal(sizes[1])
    apart = np.sort([b - a for a in first for b in second])
    found = unpaired_shift(first, second)
    assert found.low == pytest.approx(apart[critical])
    assert found.high == pytest.approx(apart[-1 - critical])


def test_too_few_runs_have_a_value_and_no_interval() -> None:
    assert paired_shift(np.arange(5.0)).low is None
    assert paired_shift(np.arange(5.0)).value == 2.0
    assert unpaired_shift(np.zeros(3), np.ones(3)).high is None
    assert paired_shift(np.arange(5.0), 0.9).low is not None
    assert not paired_shift(np.zeros(5)).within(1.0)


def test_intervals_cover_the_shift_as_often_as_they_say() -> None:
    rng = np.random.default_rng(2)
    covered = [0, 0]
    for _ in range(1000):
        first, second = rng.standard_exponential(7), 0.3 + rng.standard_exponential(7)
        one, other = unpaired_shift(first, second), paired_shift(second - first)
        for number, found in enumerate((one, other)):
            assert found.low is not None
            assert found.high is not None
            covered[number] += found.low <= 0.3 <= found.high
    # Exact tests are conservative: at least 95 %, less the noise of a thousand repetitions.
    assert min(covered) >= 935
    assert max(covered) < 995


def test_within_takes_the_whole_interval() -> None:
    found = paired_shift(np.linspace(-0.1, 0.1, 9))
    assert found.within(0.1)
    assert not found.within(0.02)
