"""A known tail is found again, and what is censored does not count."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from whylate.stats.tail.pareto import Pareto, fit_pareto


def drawn(n: int, shape: float, seed: int = 1) -> NDArray[np.float64]:
    uniform = np.random.default_rng(seed).random(n)
    if shape == 0:
        return np.asarray(-12_000 * np.log(uniform))
    return np.asarray(12_000 * np.expm1(-shape * np.log(uniform)) / shape)


@pytest.mark.parametrize("shape", [-0.4, 0.0, 0.2, 0.6])
def test_a_known_tail_is_found_again(shape: float) -> None:
    found = fit_pareto(drawn(20_000, shape))
    error = (1 + shape) / np.sqrt(20_000)
    assert found.shape == pytest.approx(shape, abs=3 * error)
    assert found.scale_ns == pytest.approx(12_000, rel=0.03)


def test_no_other_shape_and_scale_are_likelier() -> None:
    from scipy.stats import genpareto

    excess_ns = drawn(300, 0.3)
    found = fit_pareto(excess_ns)
    best = genpareto.logpdf(excess_ns, found.shape, scale=found.scale_ns).sum()
    for shape, scale in ((1.02, 1), (0.98, 1), (1, 1.02), (1, 0.98)):
        other = genpareto.logpdf(excess_ns, shape * found.shape, scale=scale * found.scale_ns)
        assert other.sum() < best


def test_of_the_largest_only_that_they_are_larger_counts() -> None:
    excess_ns = np.sort(drawn(500, 0.2))
    moved = excess_ns.copy()
    moved[-10:] *= 1000
    assert fit_pareto(excess_ns, 10) == fit_pareto(moved, 10)
    assert fit_pareto(moved).shape > fit_pareto(excess_ns).shape + 0.1


def test_with_the_largest_censored_the_tail_is_found_without_bias() -> None:
    fits = [fit_pareto(drawn(500, 0.2, seed), 10) for seed in range(100)]
    assert np.mean([fit.shape for fit in fits]) == pytest.approx(0.2, abs=0.025)


def test_the_level_and_its_error_are_those_of_many_fits() -> None:
    fits = [fit_pareto(drawn(500, 0.2, seed)) for seed in range(200)]
    known = Pareto(0.2, 12_000)
    assert known.exceeded_once_in(5_000) == pytest.approx(12_000 * (5_000**0.2 - 1) / 0.2)
    levels = [fit.exceeded_once_in(5_000) for fit in fits]
    # Without that of the count: 500 of them were drawn each time.
    count = 12_000 * 5_000**0.2 / np.sqrt(500)
    error = np.sqrt(known.level_error(5_000, 500) ** 2 - count**2)
    assert np.std(levels) == pytest.approx(error, rel=0.2)


def test_beyond_the_end_of_a_light_tail_nothing_survives() -> None:
    ends = Pareto(-0.5, 1_000)
    assert ends.log_survival(np.array([2_500.0])) == -np.inf
    assert Pareto(0.0, 1_000).log_survival(np.array([3_000.0])) == pytest.approx(-3)


def test_nine_known_excesses_are_too_few() -> None:
    with pytest.raises(ValueError, match="10 known excesses"):
        fit_pareto(drawn(19, 0.2), 10)
