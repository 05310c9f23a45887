"""Student's interval, as ministat prints it, and where ministat has none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind

from whylate.stats.comparison.student import Moments, moments, student_interval


def test_summaries_give_the_interval_that_ministat_printed() -> None:
    # lmbench lat_ctx, 20 processes, 10 runs each: ministat says -18.8616 % +/- 0.151...
    without, with_asid = Moments(10, 3.584, 0.006992059), Moments(10, 2.908, 0.0042163702)
    found = student_interval(without, with_asid)
    assert 100 * found.difference / without.mean == pytest.approx(-18.86, abs=0.005)
    assert 100 * found.half_width / without.mean == pytest.approx(0.15, abs=0.005)


def test_values_give_the_interval_of_a_t_test() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(5, 1, 9).tolist(), rng.normal(6, 1, 12).tolist()
    found = student_interval(moments(first), moments(second))
    known = ttest_ind(second, first).confidence_interval(0.95)
    assert found.difference - found.half_width == pytest.approx(known.low)
    assert found.difference + found.half_width == pytest.approx(known.high)


def test_large_values_keep_their_digits() -> None:
    first = [1e9 - 1, 1e9, 1e9 + 1, 1e9]
    second = [value + 3 for value in first]
    small = student_interval(moments([-1, 0, 1, 0]), moments([2, 3, 4, 3]))
    found = student_interval(moments(first), moments(second))
    assert found.difference == pytest.approx(3)
    assert found.half_width == pytest.approx(small.half_width, rel=1e-6)


def test_one_value_has_no_deviation() -> None:
    with pytest.raises(ValueError, match="two values"):
        student_interval(Moments(1, 3.0, 0.0), Moments(5, 3.0, 1.0))
