"""Offset and rate of a clock against another, from simulated exchanges whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from whylate.stats.arrays import Int64s
from whylate.stats.clock_offsets import estimate_offset

#: ns since the epoch: double precision has steps of 256 ns there.
EPOCH = 1_790_000_000_000_000_000


def exchanges(
    rng: np.random.Generator, n: int, shift_ns: float, ppm: float, span_ns: int = 3 * 10**9
) -> tuple[Int64s, Int64s, Int64s]:
    """Return n exchanges in random order; the offset is shift_ns in the middle of the span."""
    begin = rng.integers(0, span_ns, n)
    there, back = (30 + rng.exponential(25, n) for _ in range(2))
    middle = begin + there
    peer = middle + shift_ns + (middle - span_ns / 2) * ppm / 1e6
    return (
        EPOCH + begin,
        EPOCH + np.round(peer).astype(np.int64),
        EPOCH + np.ceil(begin + there + back).astype(np.int64),
    )


@pytest.mark.parametrize(
    ("shift_ns", "ppm"), [(1000, 0), (0, 10), (1000, 10), (-250, -3), (0, 0), (10**8, 500)]
)
def test_an_offset_and_a_rate_are_seen_with_intervals_that_hold(
    shift_ns: float, ppm: float
) -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        begin, peer, end = exchanges(rng, 50, shift_ns, ppm)
        ahead = estimate_offset(begin, peer, end)
        # The middle of these exchanges is not the middle of the span.
        true_ns = shift_ns + (ahead.at_ns - EPOCH - 1.5e9) * ppm / 1e6
        assert ahead.low_ns - 1 <= true_ns <= ahead.high_ns + 1
        assert ahead.low_ns <= ahead.offset_ns <= ahead.high_ns
        # That the rate is not known makes it a little wider.
        assert ahead.high_ns - ahead.low_ns <= 1.2 * ahead.quickest_ns
        assert ahead.ppm == pytest.approx(ppm, abs=0.03)
        assert ahead.low_ppm is not None
        assert ahead.high_ppm is not None
        assert ahead.low_ppm - 0.001 <= ppm <= ahead.high_ppm + 0.001
        assert ahead.high_ppm - ahead.low_ppm < 0.1


def test_slow_exchanges_that_err_in_one_direction_hide_no_rate() -> None:
    rng = np.random.default_rng(9)
    begin, peer, end = exchanges(rng, 100, 0, 10)
    # Of most exchanges in the second half the answer comes late.
    slow = (begin - EPOCH > 1_500_000_000) & (rng.random(100) < 0.8)
    end = end + np.where(slow, rng.integers(10_000, 400_000, 100), 0)
    ahead = estimate_offset(begin, peer, end)
    assert ahead.low_ppm is not None
    assert ahead.high_ppm is not None
    assert ahead.low_ppm - 0.001 <= 10 <= ahead.high_ppm + 0.001
    assert ahead.ppm == pytest.approx(10, abs=0.05)


def test_an_interval_without_zero_needs_a_shift_beyond_half_the_quickest_exchange() -> None:
    rng = np.random.default_rng(6)
    near = estimate_offset(*exchanges(rng, 50, 15, 0))
    far = estimate_offset(*exchanges(rng, 50, 200, 0))
    assert near.low_ns <= 0 <= near.high_ns
    assert far.low_ns > 0


def test_a_clock_that_is_set_has_no_constant_rate() -> None:
    rng = np.random.default_rng(7)
    begin, peer, end = exchanges(rng, 60, 0, 0)
    peer = peer + np.where(begin - EPOCH > 1_500_000_000, 5_000, 0)
    ahead = estimate_offset(begin, peer, end)
    assert (ahead.ppm, ahead.low_ppm, ahead.high_ppm) == (None, None, None)
    assert ahead.high_ns - ahead.low_ns == ahead.quickest_ns


def test_a_few_exchanges_have_bounds_and_no_rate() -> None:
    rng = np.random.default_rng(8)
    single = estimate_offset(*exchanges(rng, 1, 1000, 0))
    assert single.low_ns <= 1000 <= single.high_ns
    assert (single.ppm, single.low_ppm) == (None, None)
    three = estimate_offset(*exchanges(rng, 3, 1000, 0))
    assert three.ppm is None
    assert three.low_ns - 1 <= 1000 <= three.high_ns + 1


def test_impossible_exchanges_are_refused() -> None:
    none = np.array([], np.int64)
    with pytest.raises(ValueError, match="no exchange"):
        estimate_offset(none, none, none)
    with pytest.raises(ValueError, match="before it begins"):
        estimate_offset(np.array([5]), np.array([5]), np.array([4]))
