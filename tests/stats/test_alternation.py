"""What a treatment adds: found with an interval that holds, and not where it adds nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from latency_model import simulate_run
from whylate.stats.comparison.alternation import Added, Group, estimate_added
from whylate.stats.comparison.run_statistics import P50, P99
from whylate.stats.run.ordered import Ordered
from whylate.stats.run.values import count_values, without

Floats = NDArray[np.float64]
Treatment = Callable[[Floats], Floats]

GROUPS, EVERY, ROWS = 12, 4, 250


def ordered(latency_ns: Floats) -> Ordered:
    values = count_values(latency_ns.round().astype(np.int64))
    return Ordered(values, values)


def groups(seed: int, treatment: Treatment, drift: float = 0.0) -> list[Group]:
    """A simulated run, of which one block in four, drawn in each group, is without a treatment."""
    rng = np.random.default_rng(seed)
    n = GROUPS * EVERY * ROWS
    latency_ns = 1000 * simulate_run(rng, n) * (1 + drift * np.arange(n) / n)
    off = rng.integers(0, EVERY, GROUPS)
    parts = []
    for group, blocks in enumerate(latency_ns.reshape(GROUPS, EVERY, ROWS)):
        within = np.arange(EVERY) == off[group]
        parts.append(
            Group(ordered(treatment(blocks[~within].ravel())), ordered(blocks[within].ravel()))
        )
    return parts


def estimates(treatment: Treatment, runs: int = 100, drift: float = 0.0) -> dict[str, list[Added]]:
    found: dict[str, list[Added]] = {"p50": [], "p99": []}
    for seed in range(runs):
        parts = groups(seed, treatment, drift)
        for statistic in (P50, P99):
            added = estimate_added(parts, statistic)
            assert added is not None
            found[statistic.name].append(added)
    return found


@pytest.mark.parametrize("drift", [0.0, 0.3])
def test_an_effect_is_found_with_an_interval_that_holds_its_rate(drift: float) -> None:
    for name, added in estimates(lambda latency: latency * 1.1, drift=drift).items():
        ratios = [one.ratio for one in added]
        covered = np.mean([ratio.low <= 1.1 <= ratio.high for ratio in ratios])
        assert covered >= 0.89, name
        assert np.mean([ratio.value for ratio in ratios]) == pytest.approx(1.1, abs=0.01), name
    median = [one.ratio.low for one in estimates(lambda latency: latency * 1.1)["p50"]]
    assert np.mean([low > 1 for low in median]) > 0.95


def test_what_is_added_is_said_in_ns() -> None:
    added = estimates(lambda latency: latency + 500)["p50"]
    covered = [one.difference_ns.low <= 500 <= one.difference_ns.high for one in added]
    assert np.mean(covered) >= 0.89


@pytest.mark.parametrize("drift", [0.0, 0.3])
def test_nothing_is_seldom_called_something(drift: float) -> None:
    for name, added in estimates(lambda latency: latency, drift=drift).items():
        called = [one.ratio.low > 1 or one.ratio.high < 1 for one in added]
        assert np.mean(called) <= 0.11, name
        # As a warning needs it: 5 % of the quantile for sure.
        assert np.mean([1 - 1 / one.ratio.low > 0.05 for one in added]) <= 0.03, name


def test_blocks_are_resampled_not_samples() -> None:
    """A level that differs from block to block makes the interval wide, however many rows."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(100):
        parts = []
        for _group in range(GROUPS):
            levels = 5000 * np.exp(0.2 * rng.standard_normal(EVERY))
            rows = [level * np.exp(0.01 * rng.standard_normal(2000)) for level in levels]
            parts.append(Group(ordered(np.concatenate(rows[1:])), ordered(rows[0])))
        added = estimate_added(parts, P50)
        assert added is not None
        covered += added.ratio.low <= 1 <= added.ratio.high
    assert covered >= 85


def test_too_few_groups_or_rows_have_no_figure() -> None:
    parts = groups(1, lambda latency: latency)
    assert estimate_added(parts[:7], P50) is None
    few = [Group(part.treated, ordered(np.full(50, 5000.0))) for part in parts]
    assert estimate_added(few, P99) is None
    assert estimate_added(few, P50) is not None


def test_overruns_widen_the_interval_or_refuse_it() -> None:
    parts = groups(3, lambda latency: latency)
    plain = estimate_added(parts, P99)
    assert plain is not None

    def overrun(group: Group, rows: int) -> Group:
        values = group.treated.bound
        taken = count_values(values.part(0, rows))
        return Group(Ordered(values, without(values, taken)), group.untreated)

    few = estimate_added([overrun(parts[0], 15), *parts[1:]], P99)
    assert few is not None
    assert few.ratio.low == pytest.approx(plain.ratio.low, rel=1e-3)
    assert few.ratio.high > plain.ratio.high
    assert estimate_added([overrun(part, 30) for part in parts], P99) is None


def test_values_that_are_all_equal_add_nothing() -> None:
    parts = [Group(ordered(np.full(300, 5000.0)), ordered(np.full(100, 5000.0)))] * GROUPS
    added = estimate_added(parts, P50)
    assert added is not None
    assert (added.ratio.low, added.ratio.high) == pytest.approx((1, 1))
    assert added.difference_ns.value == pytest.approx(0)
