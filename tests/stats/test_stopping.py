"""Looks that err in 5 % together, and evidence that may be looked at any time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from whylate.stats.comparison.stopping import e_value, joint_e_value, look_levels

LOOKS = (10, 20, 30)


def test_looks_have_the_shape_of_obrien_and_fleming_and_share_the_level() -> None:
    levels = look_levels(LOOKS)
    bounds = np.array([norm.isf(p / 2) for p in levels])
    np.testing.assert_allclose(bounds * np.sqrt(LOOKS), bounds[-1] * np.sqrt(30))
    assert sum(levels) == pytest.approx(0.05)
    # Theirs, of one normal sum, is 2.004 at the last of three equal looks (Jennison and Turnbull
    # 2000, Group Sequential Methods, table 2.3).
    assert 2.004 < bounds[-1] < 2.1


def test_one_look_has_all_of_the_level() -> None:
    assert look_levels((12,))[0] == pytest.approx(0.05)


@pytest.mark.parametrize("statistics", [1, 12])
def test_however_many_statistics_are_tested_all_looks_err_in_five_per_cent(statistics: int) -> None:
    looks = (6, 9, 24)
    rng = np.random.default_rng(1)
    sums = rng.standard_normal((20_000, looks[-1], statistics)).cumsum(axis=1)
    crossed = np.zeros(len(sums), bool)
    for look, level in zip(looks, look_levels(looks), strict=True):
        # The largest of independent ones, at their joint level.
        each = 1 - (1 - level) ** (1 / statistics)
        largest = np.abs(sums[:, look - 1]).max(axis=1) / np.sqrt(look)
        crossed |= largest >= norm.isf(each / 2)
    assert 0.038 < crossed.mean() < 0.0535


@pytest.mark.parametrize("looks", [(), (0, 5), (10, 10), (10, 5)])
def test_looks_must_rise(looks: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="positive numbers of pairs"):
        look_levels(looks)


def test_evidence_from_nothing_seldom_ever_reaches_twenty() -> None:
    rng = np.random.default_rng(2)
    reached = 0
    for _ in range(300):
        pairs = 3.0 * rng.standard_normal(40)
        reached += any(e_value(pairs[:n]) >= 20 for n in range(2, 41))
    assert reached <= 0.07 * 300


def test_evidence_has_no_unit_and_no_direction() -> None:
    pairs = np.array([0.2, 0.4, 0.1, 0.3, 0.5])
    assert e_value(pairs) == pytest.approx(e_value(-1000 * pairs))
    assert e_value(pairs[:1]) == 1.0


def test_a_clear_difference_is_seen_soon() -> None:
    rng = np.random.default_rng(3)
    pairs = np.column_stack([rng.standard_normal(20), 2 + rng.standard_normal(20)])
    assert joint_e_value(pairs) > 20
    assert joint_e_value(pairs[:, :1]) < 20
    # Pairs that differ by the same each time: the limit, (1 + 6) ** 2.5.
    assert e_value(np.ones(6)) == pytest.approx(129.64, rel=1e-4)
    assert e_value(1 + 1e-9 * rng.standard_normal(6)) == pytest.approx(129.64, rel=1e-3)
    # Two whole numbers that come out so by chance are not sure of anything.
    assert e_value(np.ones(2)) < 2
    assert e_value(np.zeros(6)) == 1.0
