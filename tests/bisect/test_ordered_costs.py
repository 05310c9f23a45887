"""What a change of the version costs, from a journal, and that the search avoids changes by it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from whylate.bisect.ordered.costs import costs_of
from whylate.bisect.ordered.model import Kind, Step
from whylate.stats.ordered_search.events import Costs, Event, Measured, Settings
from whylate.stats.ordered_search.history import History
from whylate.stats.ordered_search.search import Run, next_step

SIZE, CULPRIT = 40, 23
#: Seconds: of a run, and of what is done before a run of another version.
RUN_S, CHANGE_S = 20.0, 300.0


def step(
    version: str, took_s: float, brought_s: float = 0.0, board: str = "", kind: Kind = "run"
) -> Step:
    return Step(
        number=1, kind=kind, version=version, board=board, value=1.0, started="",
        took_s=took_s, brought_s=brought_s,
    )  # fmt: skip


def test_before_the_first_run_costs_are_those_of_any_board() -> None:
    assert costs_of([step("a", 0.0, kind="same")], []) == Costs()


def test_what_brings_a_version_to_the_board_is_a_cost_of_a_change() -> None:
    steps = [step("a", 20, 301), step("a", 21), step("b", 19, 299), step("a", 20, 300)]
    assert costs_of(steps, [90, 110, 100]) == Costs(run_s=20, boot_s=300, build_s=100)


def test_a_card_that_is_written_within_runs_is_found_by_their_times() -> None:
    names = "abbabaabba"
    times = [
        320 if name != before else 22 for before, name in zip(" " + names, names, strict=False)
    ]
    assert costs_of([step(*run) for run in zip(names, times, strict=True)], []) == Costs(22, 298, 0)


def test_a_boot_before_every_run_is_no_cost_of_a_change() -> None:
    names, times = "abbabaabba", (80, 83, 79, 84, 78, 82, 81, 80, 85, 79)
    assert costs_of([step(*run) for run in zip(names, times, strict=True)], []) == Costs(80.5, 0, 0)


def test_each_board_has_what_it_ran_last() -> None:
    steps = [
        step(version, took_s, board=board)
        for version, took_s in (("a", 320), ("a", 22), ("b", 320), ("b", 22), ("b", 22))
        for board in ("first", "second")
    ]
    assert costs_of(steps, []) == Costs(22, 298, 0)


def test_the_last_version_without_the_culprit_is_another_version() -> None:
    steps = [step("a", 20, 300), step("a", 20, 300, kind="reverted")]
    assert costs_of(steps, []).boot_s == 300


@pytest.mark.parametrize("card", [False, True], ids=["installed", "written within the run"])
def test_a_search_that_knows_what_changes_cost_takes_less_time(card: bool) -> None:
    """The step is named all the same."""
    blind, knowing = ([_hours(seed, card=card, knows=knows) for seed in range(6)]
                      for knows in (False, True))  # fmt: skip
    assert sum(knowing) < 0.85 * sum(blind)


def _hours(seed: int, *, card: bool, knows: bool) -> float:
    """Return how long a search takes that finds the step, by the times of its journal."""
    rng = np.random.default_rng(seed)
    steps: list[Step] = []
    while True:
        costs = costs_of(steps, []) if knows else Costs(RUN_S, 0.0, 0.0)
        found = next_step(
            History(SIZE), _events(steps), Settings(costs=costs, seed=seed), range(SIZE)
        )
        if not isinstance(found, Run):
            assert found.versions == (CULPRIT,)
            return sum(made.took_s + made.brought_s for made in steps) / 3600
        changed = not steps or steps[-1].version != str(found.version)
        change_s = CHANGE_S * changed
        took_s = RUN_S + float(rng.uniform(0, 2))
        made = step(str(found.version), took_s + change_s * card, change_s * (not card))
        value = 0.3 * (found.version >= CULPRIT) + float(rng.normal(0, 0.15))
        steps.append(msgspec.structs.replace(made, value=value))


def _events(steps: Sequence[Step]) -> list[Event]:
    return [Measured(int(made.version), made.value or 0.0) for made in steps]
