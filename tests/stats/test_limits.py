import math

import numpy as np
import pytest

from whylate.stats.limits import (
    another_count,
    binomial_limits,
    poisson_high,
    poisson_low,
    student_t,
)


def test_binomial_limits_are_clopper_and_pearsons() -> None:
    # The interval inverts the binomial tails: at each limit 2.5 % lie beyond what was seen.
    low, high = binomial_limits(3, 20, 0.95)
    below = sum(math.comb(20, k) * high**k * (1 - high) ** (20 - k) for k in range(4))
    above = 1 - sum(math.comb(20, k) * low**k * (1 - low) ** (20 - k) for k in range(3))
    assert below == pytest.approx(0.025)
    assert above == pytest.approx(0.025)


def test_binomial_limits_reach_the_ends() -> None:
    assert binomial_limits(0, 10, 0.95)[0] == 0.0
    assert binomial_limits(10, 10, 0.95)[1] == 1.0


def test_no_event_in_95_percent_is_the_rule_of_three() -> None:
    assert poisson_high(0, 0.95) == pytest.approx(-math.log(0.05))
    assert poisson_low(0, 0.95) == 0.0


def test_one_event_leaves_five_percent_beyond_each_poisson_limit() -> None:
    assert 1 - math.exp(-poisson_low(1, 0.95)) == pytest.approx(0.05)
    high = poisson_high(1, 0.95)
    assert math.exp(-high) * (1 + high) == pytest.approx(0.05)


def test_student_has_the_tabulated_value() -> None:
    assert student_t(0.975, 10) == pytest.approx(2.2281, abs=1e-4)


def test_another_count_lies_in_its_limits_as_often_as_they_say() -> None:
    rng = np.random.default_rng(5)
    for mean in (0.3, 3.0, 40.0):
        counts = rng.poisson(mean, (2, 4_000))
        limits = {count: another_count(int(count), 0.95) for count in set(counts[0].tolist())}
        held = [limits[a][0] <= b <= limits[a][1] for a, b in counts.T.tolist()]
        assert np.mean(held) > 0.94
    # By the table of the sign test: 0 against 6 has p = 2 / 64.
    assert another_count(0, 0.95) == (0, 5)
    assert another_count(1, 0.95)[0] == 0
    low, high = another_count(1_000, 0.95)
    assert (low, high) == pytest.approx((1_000 - 88, 1_000 + 88), abs=5)
    with pytest.raises(ValueError, match="at least 0"):
        another_count(-1, 0.95)
