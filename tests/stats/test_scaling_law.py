"""A fitted law: the interval is that of regression where it must be, and covers what it claims."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from whylate.stats.arrays import Floats
from whylate.stats.scaling.law import Law, fit_law
from whylate.stats.scaling.universal import fit_universal, universal_throughput

#: Linear in logarithms: value = exp(a + b log place).
POWER = Law(
    lambda place, parameters: math.exp(parameters[0] + parameters[1] * math.log(place)),
    low=(-50.0, -50.0),
    high=(50.0, 50.0),
    starts=((0.0, 1.0),),
)


def test_of_a_linear_law_it_is_the_interval_of_regression() -> None:
    places, values = [1.0, 2.0, 4.0, 8.0, 16.0], [1.1, 1.8, 4.3, 7.7, 16.9]
    fit = fit_law(POWER, places, values)
    low, high = fit.interval(lambda p: POWER.value(40.0, p))
    x, y = np.log(places), np.log(values)
    regression = stats.linregress(x, y)
    at = math.log(40.0)
    middle = regression.intercept + regression.slope * at
    residual = math.sqrt(np.sum((y - regression.intercept - regression.slope * x) ** 2) / 3)
    leverage = 1 / 5 + (at - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2)
    half = stats.t.ppf(0.975, 3) * residual * math.sqrt(1 + leverage)
    assert math.log(low) == pytest.approx(middle - half, abs=3e-3)
    assert math.log(high) == pytest.approx(middle + half, abs=3e-3)


def test_sampling_that_is_wider_than_the_residuals_widens_the_interval() -> None:
    places, values = [1.0, 2.0, 4.0, 8.0], [1.0, 2.0, 4.0, 8.0]

    def width(sampling_sd: float) -> float:
        fit = fit_law(POWER, places, values, sampling_sd)
        low, high = fit.interval(lambda p: POWER.value(16.0, p))
        return high / low

    assert width(0.0) < 1.001
    assert width(0.05) > 1.5


def test_without_a_place_more_than_parameters_there_is_no_interval() -> None:
    with pytest.raises(ValueError, match="2 different places"):
        fit_law(POWER, [1.0, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="above zero"):
        fit_law(POWER, [1.0, 2.0], [1.0, 0.0])
    fit = fit_law(POWER, [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="leave nothing"):
        fit.interval(lambda p: POWER.value(4.0, p))


def test_an_interval_covers_a_measurement_as_often_as_it_claims() -> None:
    rng = np.random.default_rng(5)
    counts, held, runs = [1, 2, 4, 6, 8, 12], 0, 40
    truth = (1.0, 0.06, 0.001)

    def measured(n: int) -> float:
        return universal_throughput(n, *truth) * math.exp(0.02 * rng.standard_normal())

    for _ in range(runs):
        law = fit_universal(counts, [measured(n) for n in counts])
        low, high = law.interval(20)
        held += low <= measured(20) <= high
    # Of 40 with 95 % each fewer than 33 hold in a run of 500.
    assert held >= 33


def test_what_nothing_bounds_has_no_bound() -> None:
    def only_first(place: float, parameters: Floats) -> float:
        del place
        return math.exp(parameters[0])

    law = Law(only_first, (-50.0, -50.0), (50.0, 50.0), ((0.0, 0.0),))
    fit = fit_law(law, [1.0, 2.0, 3.0], [1.0, 1.1, 1.0])
    assert fit.interval(lambda p: math.exp(p[1])) == (0.0, math.inf)
