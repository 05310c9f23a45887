"""The share of time at which something held, from points of a grid."""

import numpy as np
import pytest

from whylate.stats.sampled_share import estimate_share

PERIOD, BLOCK = 53, 10_600
BLOCKS = 100


def sampled(rng: np.random.Generator, every: float, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the points at which it held, and all, of blocks: it holds for `length` at random."""
    total = BLOCK * BLOCKS
    begins = np.cumsum(rng.exponential(every - length, int(2 * total / every)) + length)
    grid = rng.uniform(0, PERIOD) + np.arange(total // PERIOD - 1) * PERIOD
    at = np.searchsorted(begins, grid, "right") - 1
    held = (at >= 0) & (grid - begins[at] < length)
    block = np.minimum(grid // BLOCK, BLOCKS - 1).astype(int)
    return np.bincount(block, held, BLOCKS).astype(np.int64), np.bincount(block, minlength=BLOCKS)


@pytest.mark.parametrize("length", [5.0, 53.0, 500.0])
def test_the_share_is_unbiased_and_its_interval_holds(length: float) -> None:
    rng = np.random.default_rng(7)
    every = 20 * length
    shares = [estimate_share(*sampled(rng, every, length)) for _ in range(200)]
    mean = np.mean([share.share for share in shares])
    assert mean == pytest.approx(length / every, rel=0.05)
    held = np.mean([share.low <= length / every <= share.high for share in shares])
    assert held >= 0.92


def test_points_of_one_stretch_count_as_fewer() -> None:
    rng = np.random.default_rng(7)
    assert estimate_share(*sampled(rng, 40 * 500.0, 500.0)).effect > 3
    assert estimate_share(*sampled(rng, 40 * 5.0, 5.0)).effect < 1.5


def test_nothing_seen_has_an_upper_limit_alone() -> None:
    share = estimate_share(np.zeros(4, np.int64), np.full(4, 1000))
    assert (share.share, share.low) == (0, 0)
    assert 3 / 4000 < share.high < 4 / 4000


def test_a_stretch_that_began_before_all_blocks_is_all_of_the_time() -> None:
    share = estimate_share(np.array([40, 5]), np.array([20, 20]))
    assert (share.share, share.high) == (1, 1)


def test_a_share_of_no_points_is_refused() -> None:
    with pytest.raises(ValueError, match="no points"):
        estimate_share(np.zeros(2, np.int64), np.zeros(2, np.int64))
