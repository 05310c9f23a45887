"""The level of a known tail is found, and runs that differ make it less sure."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from stats_examples import autoregressive, cpu_series, independent, ordered

from whylate.stats.run.episodes import Peaks
from whylate.stats.tail.return_level import (
    Level,
    RunTail,
    estimate_return_level,
    excesses,
    most_episodes,
    summarize_tail,
)


def made(peaks_ns: NDArray[np.float64], seconds: float = 100.0) -> RunTail:
    peaks = Peaks(peaks_ns.astype(np.int64), np.zeros(len(peaks_ns), bool))
    return RunTail(peaks, 20_000, seconds, 1.0, round(1000 * seconds), 5_000, 9_000, 0.5)


def runs(seed: int, copies: int = 1, spread: float = 0.0) -> list[RunTail]:
    """Ten runs, an exponential tail of 10 µs above 20 µs; each episode comes `copies` times."""
    rng = np.random.default_rng([9, seed])
    found = []
    for _ in range(10):
        scale = 10_000 * math.exp(spread * rng.standard_normal())
        peaks = 20_000 + scale * rng.exponential(size=1000 // copies)
        found.append(made(np.repeat(peaks, copies)))
    return found


def width(level: Level) -> float:
    return math.log(level.high_ns / level.low_ns)


def test_the_level_of_a_known_tail_is_in_the_interval() -> None:
    # 10 episodes a second above 20 µs: once in an hour is one of 36,000.
    truth = 20_000 + 10_000 * math.log(36_000)
    levels = [estimate_return_level(runs(seed), 1000, 3600) for seed in range(6)]
    assert sum(level.low_ns <= truth <= level.high_ns for level in levels) >= 5
    assert np.mean([level.level_ns for level in levels]) == pytest.approx(truth, rel=0.05)
    assert np.mean([level.fit.shape for level in levels]) == pytest.approx(0, abs=0.03)


def test_episodes_that_come_together_say_less() -> None:
    alone = np.mean([width(estimate_return_level(runs(seed), 1000, 600)) for seed in range(3)])
    together = np.mean(
        [width(estimate_return_level(runs(seed, 8), 1000, 600)) for seed in range(3)]
    )
    assert together > 1.5 * alone


def test_runs_that_differ_say_less() -> None:
    alike = np.mean([width(estimate_return_level(runs(seed), 1000, 600)) for seed in range(3)])
    differing = np.mean(
        [width(estimate_return_level(runs(seed, 1, 0.4), 1000, 600)) for seed in range(3)]
    )
    assert differing > 1.3 * alike


def test_a_shape_that_depends_on_the_threshold_shows() -> None:
    rng = np.random.default_rng(2)
    bent = [
        made(np.r_[20_000 + 60_000 * rng.random(95), 80_000 + 40_000 * rng.pareto(2, 20)])
        for _ in range(10)
    ]
    assert estimate_return_level(bent, 1000, 600).shape_p < 0.01
    assert estimate_return_level(runs(1), 1000, 600).shape_p > 0.01


def test_no_more_than_one_row_in_a_thousand_and_no_lower_than_any_floor() -> None:
    ten = runs(1)
    assert most_episodes(ten) == 1000
    above = excesses(ten, 300)
    assert len(above.together_ns) == 300
    assert above.together_ns.min() > 0
    assert most_episodes([made(one.peaks.latency_ns.astype(float), 9000) for one in ten]) == 2000
    high = [made(np.full(1000, 21_000.0)) for _ in range(9)]
    last = RunTail(ten[0].peaks, 60_000, 100.0, 1.0, 100_000, 5_000, 9_000, 0.5)
    assert most_episodes([*high, last]) < 60


def test_the_tail_of_a_run_has_its_late_episodes_and_its_drift() -> None:
    steady = cpu_series(independent(100_000))
    found = summarize_tail(ordered(steady), [steady], 0.8)
    assert found.rows == 100_000
    assert found.seconds == pytest.approx(100)
    assert found.theta == 0.8
    assert 3_900 <= len(found.peaks.latency_ns) <= 4_000
    assert found.peaks.latency_ns.max() == steady.latency_ns.max()
    assert found.drift_p is not None
    assert found.drift_p > 0.01
    rising = cpu_series(autoregressive(50_000, 0.5, 1) * np.linspace(1, 1.2, 50_000))
    moved = summarize_tail(ordered(rising), [rising], None)
    assert moved.drift_p is not None
    assert moved.drift_p < 1e-6
    short = cpu_series(independent(500))
    assert summarize_tail(ordered(short), [short], None).drift_p is None
    with pytest.raises(ValueError, match="without 20 activations"):
        summarize_tail(ordered(cpu_series([1] * 19)), [cpu_series([1] * 19)], None)
