"""What is expected of a search: the next versions, and which part a revert gives back."""

from __future__ import annotations

import numpy as np
import pytest

from simulated_histories import Case, simulate_history
from whylate.stats.ordered_search.ahead import likely_next
from whylate.stats.ordered_search.events import Costs, Event, Measured, Settings
from whylate.stats.ordered_search.given_back import estimate_given_back
from whylate.stats.ordered_search.search import Run, next_step


def test_versions_that_are_built_ahead_are_mostly_those_that_are_wanted() -> None:
    wanted = ready = 0
    for seed in range(4):
        world = simulate_history(Case(4, size=200), np.random.default_rng([7, seed]))
        settings = Settings(costs=Costs(60, 0, 60), seed=seed)
        events: list[Event] = []
        built, ahead = {0, world.history.size - 1}, set[int]()
        while isinstance(step := next_step(world.history, events, settings), Run):
            if step.version not in built:
                wanted += 1
                ready += step.version in ahead
                built.add(step.version)
            ahead = set(likely_next(world.history, events, settings, step.version, built))
            assert len(ahead) <= 2
            assert not ahead & built
            events.append(Measured(step.version, world.measure(step.version, len(events))))
    assert wanted > 12
    assert ready > 0.6 * wanted, f"{ready} of {wanted}"


def test_both_ends_come_first() -> None:
    history = simulate_history(Case(4, size=50), np.random.default_rng(1)).history
    assert likely_next(history, [], Settings(), 0, {0}) == [49]


def test_a_version_that_is_built_is_preferred_where_builds_are_long() -> None:
    world = simulate_history(Case(4, size=200), np.random.default_rng([7, 0]))
    settings = Settings(costs=Costs(1, 0, 3600))
    events: list[Event] = []
    while True:
        step = next_step(world.history, events, settings)
        assert isinstance(step, Run)
        if step.version not in (0, 199):
            break
        events.append(Measured(step.version, world.measure(step.version, len(events))))
    near = step.version + 5
    chosen = next_step(world.history, events, settings, {near})
    assert isinstance(chosen, Run)
    assert chosen.version == near


def test_the_interval_of_what_is_given_back_holds_95_percent() -> None:
    rng = np.random.default_rng(5)
    held, parts = 0, []
    for _ in range(2000):
        good, bad = rng.normal(0, 1, 12), rng.normal(4, 1, 12)
        changes = rng.normal(-3, 2**0.5, 12)
        back = estimate_given_back(changes.tolist(), good.tolist(), bad.tolist())
        parts.append(back.part)
        assert back.low is not None
        assert back.high is not None
        held += back.low <= 0.75 <= back.high
    assert np.median(parts) == pytest.approx(0.75, abs=0.02)
    # A little too wide by its degrees of freedom; 0.94 is two standard errors below 0.95.
    assert 0.94 <= held / 2000 <= 0.98


def test_a_part_of_nothing_has_no_interval() -> None:
    back = estimate_given_back([-1, -1.2, -0.9], [0, 1, 2], [0.1, 1.2, 2.2])
    assert (back.low, back.high) == (None, None)
    with pytest.raises(ValueError, match="two runs of each"):
        estimate_given_back([1], [0, 1], [2, 3])
