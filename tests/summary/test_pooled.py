"""Several runs taken together."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from whylate.summary.model import Estimate, Figures, Summary, Trust
from whylate.summary.pooled import pool


def run(
    p50: int | None,
    highest: int,
    *,
    at_least: bool = False,
    trust: Literal["ok", "no verdict"] = "ok",
) -> Summary:
    figures = Figures(
        None, 10, 10, 0, 0, 1,
        {
            "p50": Estimate(p50, None, None),
            "p99": Estimate(None, None, None, reason="too few"),
            "max": Estimate(highest, highest, None, at_least=at_least),
        },
    )  # fmt: skip
    return Summary(
        recording="r", board="b", state="complete", created="", kernel=None, cpu_model=None,
        workload="wakeup", interval_ns=1, priority=1, planned_ns=1, elapsed_ns=1,
        trust=Trust(trust, []), together=figures, per_cpu=[], exceedance=None,  # type: ignore[arg-type]
        loads=[], warnings=[], requirements=[], interval_note="",
    )  # fmt: skip


def test_the_run_is_the_unit() -> None:
    found = {one.name: one for one in pool([run(30, 90), run(10, 70), run(20, 80)]).figures}
    assert found["p50"].values_ns == [10, 20, 30]
    assert found["p50"].median_ns == 20
    assert found["max"].median_ns == 80


def test_a_figure_that_every_run_refused_is_left_out_and_one_that_some_refused_counts_fewer() -> (
    None
):
    found = {one.name: one for one in pool([run(None, 90), run(10, 70)]).figures}
    assert "p99" not in found
    assert found["p50"].values_ns == [10]


def test_a_run_without_a_verdict_is_left_out_and_counted() -> None:
    found = pool([run(10, 70), run(99, 990, trust="no verdict"), run(30, 90)])
    assert (found.runs, found.left_out) == (2, 1)
    assert found.figures[0].values_ns == [10, 30]


def test_what_is_known_as_a_lower_bound_bounds_all_that_is_not_below_it() -> None:
    found = pool([run(1, 70), run(1, 80, at_least=True), run(1, 90)])
    highest = next(one for one in found.figures if one.name == "max")
    assert [highest.at_least(value) for value in highest.values_ns] == [False, True, True]
    assert highest.at_least(highest.median_ns)
    assert not found.figures[0].at_least(1)


@pytest.mark.parametrize("count", [1, 5])
def test_too_few_runs_have_no_interval(count: int) -> None:
    assert {one.low_ns for one in pool([run(i, i) for i in range(count)]).figures} == {None}


@pytest.mark.parametrize(("count", "low", "high"), [(6, 0, 5), (8, 0, 7), (9, 1, 7), (20, 5, 14)])
def test_the_interval_is_that_of_the_sign_test(count: int, low: int, high: int) -> None:
    """The tables of the sign test (two-sided, 5 %) give these order statistics, from 0."""
    found = pool([run(i, i) for i in range(count)]).figures[0]
    assert (found.low_ns, found.high_ns) == (low, high)


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    held = 0
    for _ in range(2000):
        values = random.exponential(1e6, 12)
        found = pool([run(int(v), 1) for v in values]).figures[0]
        assert found.low_ns is not None
        assert found.high_ns is not None
        held += found.low_ns <= 1e6 * np.log(2) <= found.high_ns
    assert held / 2000 >= 0.94
