import math

import pytest

from whylate.stats.limits import binomial_limits, poisson_high, poisson_low, student_t


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
