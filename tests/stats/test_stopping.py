"""Looks that err in 5 % together, and evidence that may be looked at any time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from whylate.stats.stopping import e_value, joint_e_value, look_levels


def test_three_equal_looks_have_the_published_bounds() -> None:
    levels = look_levels((10, 20, 30))
    bounds = [norm.isf(p / 2) for p in levels]
    # Jennison and Turnbull (2000), Group Sequential Methods, table 2.3: 2.004 sqrt(3 / k).
    np.testing.assert_allclose(bounds, [3.471, 2.454, 2.004], atol=2e-3)


def test_one_look_has_all_of_the_level() -> None:
    assert look_levels((12,))[0] == pytest.approx(0.05, abs=1e-4)


def test_unequal_looks_err_in_five_per_cent_together() -> None:
    looks = (6, 9, 24)
    levels = look_levels(looks)
    rng = np.random.default_rng(1)
    sums = rng.standard_normal((40_000, looks[-1])).cumsum(axis=1)
    crossed = np.zeros(len(sums), bool)
    for look, level in zip(looks, levels, strict=True):
        crossed |= np.abs(sums[:, look - 1]) / np.sqrt(look) >= norm.isf(level / 2)
    assert crossed.mean() == pytest.approx(0.05, abs=0.004)


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
    assert e_value(np.ones(6)) == np.inf
    assert e_value(np.zeros(6)) == 1.0
