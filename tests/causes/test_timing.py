"""When a cause acts: in a part of the run only, or always at one phase of a period."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from whylate.causes.population import Breakdown
from whylate.causes.timing import ALARM, Timing, find_timings
from whylate.causes.window.piece import Cause, Piece

S = 10**9
MS = 10**6
KEY = (Cause.SOFTIRQ, "TIMER")


def timing(at_ns: Iterable[int], seconds: int = 10, interval_ns: int = MS) -> Timing:
    late = [
        Breakdown(0, number, at, 50_000, (Piece(at, at + 50_000, *KEY),))
        for number, at in enumerate(at_ns)
    ]
    (found,) = find_timings(late, [KEY], (0, seconds * S), interval_ns)
    return found


def test_a_cause_of_one_part_of_the_run_has_that_part() -> None:
    rng = np.random.default_rng(1)
    found = timing(rng.integers(2 * S, 4 * S, 20).tolist())
    assert (found.first, found.last) == (3, 4)
    assert sum(found.tenths) == pytest.approx(1)
    assert found.tenths[0] == 0 < found.tenths[2]


def test_few_episodes_lie_in_a_part_by_chance() -> None:
    assert timing([S, S + 1_000_000, 2 * S]).first is None
    # Eight of them in half of the run come about once in forty runs.
    assert timing([n * S // 2 + 300 * MS for n in range(8)]).first is None


def test_a_cause_at_one_phase_has_its_period_and_a_burst_counts_once() -> None:
    rng = np.random.default_rng(2)
    every = [100 * MS * n + 7 * MS + int(rng.integers(0, 5 * MS)) for n in range(40)]
    assert timing(every).period_ns == 100 * MS
    burst = [S + 7 * MS + n * 2 * MS for n in range(40)]
    assert timing(burst).period_ns is None


def test_the_runs_own_period_is_none_of_the_causes() -> None:
    at = [n * 250 * MS + 3 for n in range(40)]
    assert timing(at, interval_ns=S).period_ns is None


def test_random_times_have_neither_more_often_than_is_said() -> None:
    rng = np.random.default_rng(3)
    runs = 3000
    found = [timing(rng.integers(0, 10 * S, 12).tolist()) for _ in range(runs)]
    wrong = sum(one.first is not None or one.period_ns is not None for one in found)
    # Twice ALARM, and as many again as chance may give in so many runs.
    assert wrong <= 2 * ALARM * runs + 3 * (2 * ALARM * runs) ** 0.5
