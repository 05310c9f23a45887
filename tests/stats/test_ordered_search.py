"""The search for a step in an ordered history: what it names, and how often it may be wrong."""

from __future__ import annotations

import numpy as np
import pytest

from simulated_histories import Case, Simulated, simulate_history
from whylate.stats.ordered_search import posterior
from whylate.stats.ordered_search.answer import Answer, Kind
from whylate.stats.ordered_search.drift import Drift
from whylate.stats.ordered_search.events import (
    Costs,
    Event,
    Measured,
    SameBinary,
    Settings,
    Unbuildable,
)
from whylate.stats.ordered_search.history import History
from whylate.stats.ordered_search.posterior import infer
from whylate.stats.ordered_search.search import Run, next_step

BY_RUNS = Costs(1, 0, 0.05)


def search(world: Simulated, settings: Settings) -> tuple[Answer, list[Event]]:
    """Search to the end."""
    events: list[Event] = []
    runs = 0
    while isinstance(step := next_step(world.history, events, settings), Run):
        if world.builds[step.version]:
            events.append(Measured(step.version, world.measure(step.version, runs)))
            runs += 1
        else:
            events.append(Unbuildable(step.version))
    return step, events


def searches(case: Case, number: int, **settings: int) -> list[tuple[Answer, Simulated, int]]:
    """Search several histories of a kind; return also how many runs each took."""
    results = []
    for seed in range(number):
        world = simulate_history(case, np.random.default_rng([3, seed]))
        answer, events = search(world, Settings(costs=BY_RUNS, seed=seed, **settings))
        runs = sum(isinstance(event, Measured) for event in events)
        results.append((answer, world, runs))
    return results


@pytest.mark.parametrize(
    "case",
    [
        Case(3, size=300),
        Case(3, size=300, drift=1 / 40),
        Case(3, size=300, unbuildable=0.2),
        Case(3, size=300, merges=True),
        Case(3, size=300, heavy=True),
    ],
)
def test_the_step_is_named_as_often_as_stated(case: Case) -> None:
    results = searches(case, 12)
    # 12 of 12 are expected at 0.97 each; 9 or fewer come once in 400 times.
    assert sum(world.true_statement(answer) for answer, world, _ in results) >= 10
    assert np.median([runs for *_, runs in results]) <= 50


def test_culprits_that_do_not_build_are_named_with_their_interval() -> None:
    world = simulate_history(Case(6, size=60), np.random.default_rng(1))
    world.builds[20:30] = False
    world.culprits = (24,)
    answer, _ = search(world, Settings(costs=BY_RUNS))
    assert answer.kind is Kind.VERSIONS
    assert answer.versions == tuple(range(20, 31))
    assert answer.probability >= 0.95


def test_two_steps_are_named_both() -> None:
    case = Case(5, size=100, steps=2)
    results = searches(case, 6)
    named = [world.true_statement(a) and a.kind is Kind.TWO_STEPS for a, world, _ in results]
    assert sum(named) >= 5


def test_ends_that_are_alike_have_no_step() -> None:
    results = searches(Case(0, size=100, steps=0), 8, max_runs=100)
    alike = [answer for answer, _, runs in results if answer.kind is Kind.NO_STEP and runs <= 80]
    assert len(alike) >= 5
    assert all(answer.probability > 0.5 for answer in alike)


def test_ends_that_look_alike_are_measured_longer() -> None:
    spread = np.tile([-1.2, -1.2, 1.2, 1.2, 0.36, 0.36, -0.36, -0.36], 10)
    pairs = [Measured(end, 0.1 * end + off) for off, end in zip(spread, [0, 3] * 40, strict=True)]
    soon = next_step(History(4), pairs[:40], Settings())
    assert isinstance(soon, Run)
    assert soon.best is not None
    assert soon.best.kind is Kind.NO_STEP
    assert soon.version in {0, 3}
    alike = [Measured(run.version, run.value - 0.1 * run.version) for run in pairs]
    late = next_step(History(4), alike, Settings())
    assert isinstance(late, Answer)
    assert late.kind is Kind.NO_STEP


def test_a_jump_in_time_is_not_taken_for_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    # The step is in 30. When 20 is measured first, all runs have become slower by the same.
    versions = [0, 39] * 12 + [20, 20, 20, 20, 0, 20, 20, 20, 20, 39] * 2

    def mass_before() -> float:
        masses = []
        for seed in range(10):
            noise = 0.7 * np.random.default_rng(seed).normal(size=len(versions))
            events = [
                Measured(version, (version >= 30) + (run >= 24) + noise[run])
                for run, version in enumerate(versions)
            ]
            masses.append(infer(History(40), events).steps()[:21].sum())
        return float(np.mean(masses))

    assert mass_before() < 0.65
    monkeypatch.setattr(posterior, "DRIFTS", ((Drift(), 1.0),))
    assert mass_before() > 0.75


def test_a_gradual_change_is_no_step() -> None:
    results = searches(Case(8, size=100, steps=0, gradual=True), 5)
    assert sum(answer.kind is Kind.GRADUAL for answer, *_ in results) >= 4


def test_a_search_is_resumed_from_its_events() -> None:
    world = simulate_history(Case(4, size=200, unbuildable=0.2), np.random.default_rng(5))
    settings = Settings(costs=BY_RUNS, seed=9)
    answer, events = search(world, settings)
    for place, event in enumerate(events):
        step = next_step(world.history, events[:place], settings)
        assert isinstance(step, Run)
        assert step.version == event.version
    assert next_step(world.history, events, settings) == answer


def test_another_run_is_preferred_to_an_expensive_build() -> None:
    built = []
    for costs in (Costs(60, 0, 0), Costs(60, 30, 3600)):
        worlds = [simulate_history(Case(2, size=100), np.random.default_rng(k)) for k in range(4)]
        events = [search(world, Settings(costs=costs, seed=2))[1] for world in worlds]
        built.append(sum(len({event.version for event in some}) for some in events))
    assert built[1] < 0.8 * built[0]


def test_both_ends_come_again() -> None:
    rng = np.random.default_rng(4)
    events: list[Event] = [Measured(end, end / 39 + 0.1 * rng.normal()) for end in (0, 39) * 10]
    # Values between those of the ends leave it open whether 20 holds the step.
    events += [Measured(20, 0.5 + 0.1 * rng.normal()) for _ in range(12)]
    soon = next_step(History(40), events, Settings(reference_every=12))
    late = next_step(History(40), events, Settings(reference_every=50))
    assert isinstance(soon, Run)
    assert isinstance(late, Run)
    assert soon.version == 0
    assert late.version not in {0, 39}


def test_the_sooner_end_of_a_search_is_a_set_that_holds_the_step() -> None:
    case = Case(2, size=300)
    results = searches(case, 10, max_runs=28)
    assert all(runs <= 28 for *_, runs in results)
    sets = [(answer, world) for answer, world, _ in results if answer.kind is Kind.VERSIONS]
    assert len(sets) >= 5
    assert all(answer.probability > 0.85 for answer, _ in sets)
    assert sum(world.true_statement(answer) for answer, world in sets) >= len(sets) - 1


def test_versions_of_one_binary_have_no_step_between_them() -> None:
    history = History(40)
    # What is measured says version 18, or a neighbour; 15 to 20 have one binary.
    events: list[Event] = [
        Measured(version, float(version >= 18) + 0.01 * (place % 3))
        for place, version in enumerate([0, 39, 14, 21] * 12)
    ]
    free = next_step(history, events, Settings(max_runs=48))
    bound = next_step(history, [*events, SameBinary(20, 15)], Settings(max_runs=48))
    assert isinstance(free, Answer)
    assert isinstance(bound, Answer)
    assert free.versions == tuple(range(15, 22))
    assert bound.versions == (15, 21)


def test_ends_of_one_binary_have_no_step() -> None:
    answer = next_step(History(40), [SameBinary(0, 39)], Settings())
    assert isinstance(answer, Answer)
    assert (answer.kind, answer.probability) == (Kind.NO_STEP, 1.0)


def test_equal_values_are_no_step() -> None:
    events: list[Event] = [Measured(version, 1.0) for version in (0, 39) * 20]
    answer = next_step(History(40), events, Settings(max_runs=40))
    assert isinstance(answer, Answer)
    assert answer.kind is Kind.NO_STEP


def test_values_of_another_unit_give_the_same_search() -> None:
    world = simulate_history(Case(2, size=200), np.random.default_rng(6))
    settings = Settings(costs=BY_RUNS)
    answer, events = search(world, settings)
    scaled = [
        Measured(event.version, 7 + 0.01 * event.value)
        for event in events
        if isinstance(event, Measured)
    ]
    other = next_step(world.history, scaled, settings)
    assert isinstance(other, Answer)
    assert other.versions == answer.versions
    assert other.probability == pytest.approx(answer.probability, rel=1e-6)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (Measured(40, 1.0), "no version of this history"),
        (Measured(3, float("nan")), "no finite value"),
        (Unbuildable(39), "must build"),
        (SameBinary(3, -1), "no version of this history"),
    ],
)
def test_an_event_that_does_not_fit_is_refused(event: Event, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        next_step(History(40), [event], Settings())


def test_wrong_settings_and_histories_are_refused() -> None:
    with pytest.raises(ValueError, match="confidence"):
        Settings(confidence=1.0)
    with pytest.raises(ValueError, match="max_runs"):
        Settings(max_runs=4)
    with pytest.raises(ValueError, match="seconds"):
        Costs(run_s=0)
    with pytest.raises(ValueError, match="two versions"):
        History(1)
    with pytest.raises(ValueError, match="later version"):
        History(3, np.ones((3, 3), bool))


def test_classes_of_a_history_with_merges_are_those_of_a_line() -> None:
    line = History(12)
    table = History(12, np.tril(np.ones((12, 12), bool)))
    for unbuildable in ([], [3], [3, 4, 7], [10]):
        assert line.classes(unbuildable).tolist() == table.classes(unbuildable).tolist()
