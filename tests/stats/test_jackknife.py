"""The jackknife's error is the known one where one is known."""

from __future__ import annotations

import numpy as np
import pytest

from whylate.stats.tail.return_level import jackknife_error, jackknife_p, jackknife_t


def test_of_a_mean_it_is_the_standard_error() -> None:
    values = np.random.default_rng(1).standard_normal(12)
    without = [float(np.delete(values, i).mean()) for i in range(12)]
    error = float(values.std(ddof=1)) / np.sqrt(12)
    assert jackknife_error(float(values.mean()), without, [5.0] * 12) == pytest.approx(error)
    low, high = jackknife_t(float(values.mean()), without, [5.0] * 12)
    assert high - low == pytest.approx(2 * 2.20099 * error, rel=1e-5)
    wide = jackknife_t(0.0, without, [1.0] * 12, least_error=7.0)
    assert wide[1] == pytest.approx(2.20099 * 7, rel=1e-5)


def test_runs_of_different_length_count_by_it() -> None:
    rng = np.random.default_rng(2)
    lengths = np.array([1.0, 1, 1, 1, 4, 4, 4, 8])
    means, errors = [], []
    for _ in range(2000):
        values = rng.standard_normal(8) / np.sqrt(lengths)

        def mean(keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
            return float((lengths * values)[keep].sum() / lengths[keep].sum())  # noqa: B023

        every = np.ones(8, bool)
        without = [mean(np.arange(8) != i) for i in range(8)]
        means.append(mean(every))
        errors.append(jackknife_error(means[-1], without, lengths.tolist()) ** 2)
    assert np.mean(errors) == pytest.approx(np.var(means), rel=0.1)


def test_an_estimate_that_no_run_moves_is_either_zero_or_not() -> None:
    assert jackknife_p(0.0, [0.0] * 5, [1.0] * 5) == 1.0
    assert jackknife_p(1.0, [1.0] * 5, [1.0] * 5) == 0.0
