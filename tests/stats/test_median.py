"""The median's interval holds as often as it says, whatever the distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest

from whylate.stats.comparison.shifts import median_interval


@pytest.mark.parametrize(("n", "ranks"), [(6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (10, (2, 9)),
                                          (20, (6, 15))])  # fmt: skip
def test_the_ranks_are_those_of_the_sign_test(n: int, ranks: tuple[int, int]) -> None:
    # Conover (1999), Practical Nonparametric Statistics, table A3.
    found = median_interval(list(range(n, 0, -1)))
    assert (found.low, found.high) == ranks
    assert found.value == (n + 1) / 2


@pytest.mark.parametrize("n", [1, 2, 5])
def test_too_few_values_have_no_interval(n: int) -> None:
    found = median_interval([3.0] * n)
    assert found.value == 3.0
    assert found.low is None
    assert found.high is None


def test_no_values_have_no_median() -> None:
    with pytest.raises(ValueError, match="no values"):
        median_interval([])


@pytest.mark.parametrize("n", [6, 10, 25])
def test_it_holds_the_median_of_a_skewed_distribution(n: int) -> None:
    rng = np.random.default_rng(n)
    repetitions = 2000
    held = 0
    for _ in range(repetitions):
        found = median_interval(rng.exponential(size=n) ** 3)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= math.log(2) ** 3 <= found.high
    assert held / repetitions >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / repetitions)
