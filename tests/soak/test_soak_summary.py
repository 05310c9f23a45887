"""What a soak says: limits that hold, and nothing about the board that was our own doing."""

from __future__ import annotations

import pytest

from whylate.soak.carry_out import Goal
from whylate.soak.model import ConsoleCheck, Cycle, Latency, Outcome, SoakPlan
from whylate.soak.summary import FLAT_BYTES, summarize, times

PLAN = SoakPlan(board="board7", run_for_ns=10**9, interval_ns=10**6, loads=[])


def cycles(*outcomes: Outcome, session: int = 1, rss_bytes: int = 1 << 20) -> list[Cycle]:
    return [
        Cycle(
            cycle=number,
            session=session,
            started="",
            outcome=outcome,
            stage="done",
            why="" if outcome == "ok" else f"why {number}",
            boot_s=3.0,
            total_s=10.0,
            host_rss_bytes=rss_bytes,
        )
        for number, outcome in enumerate(outcomes, start=1)
    ]


@pytest.mark.parametrize(
    ("failed", "low", "high"),
    # R: binom.test(k, 100)$conf.int
    [(0, 0.0, 0.03621669), (1, 0.0002531460, 0.05445939), (3, 0.006229972, 0.08517605)],
)
def test_the_limits_of_the_failure_rate_are_clopper_and_pearsons(
    failed: int, low: float, high: float
) -> None:
    outcomes: list[Outcome] = ["no-boot" if n < failed else "ok" for n in range(100)]
    result = summarize(PLAN, cycles(*outcomes)).failures
    assert (result.count, result.of) == (failed, 100)
    assert result.low == pytest.approx(low, rel=1e-5)
    assert result.high == pytest.approx(high, rel=1e-5)


def test_what_we_interrupted_is_no_failure_and_no_success() -> None:
    result = summarize(PLAN, cycles("ok", "interrupted", "crashed", "interrupted"))
    assert (result.cycles, result.interrupted, result.failures.count) == (2, 2, 1)
    assert result.failures.of == 2


def test_a_soak_without_a_cycle_knows_nothing_of_the_rate() -> None:
    result = summarize(PLAN, cycles("interrupted"))
    assert (result.failures.low, result.failures.high) == (0.0, 1.0)
    assert result.boot is None


def test_kinds_come_in_the_order_of_a_cycle_with_their_first_story() -> None:
    result = summarize(PLAN, cycles("crashed", "ok", "no-power", "crashed")).kinds
    assert [(item.kind, item.rate.count, item.first_cycle, item.why) for item in result] == [
        ("no-power", 1, 3, "why 3"),
        ("crashed", 2, 1, "why 1"),
    ]


def test_the_medians_limits_are_order_statistics() -> None:
    # Of 100 the 40th and the 61st (Conover, Practical Nonparametric Statistics, 3.2).
    result = times([float(n) for n in range(100, 0, -1)])
    assert result is not None
    assert (result.min_s, result.median_s, result.max_s) == (1.0, 50.5, 100.0)
    assert (result.low_s, result.high_s) == (40.0, 61.0)


def test_few_times_have_no_limits_for_their_median() -> None:
    five, six = times([1.0, 2.0, 3.0, 4.0, 5.0]), times([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert five is not None
    assert five.low_s is None
    assert six is not None
    assert (six.low_s, six.high_s) == (1.0, 6.0)


def test_memory_is_compared_within_one_process() -> None:
    before = cycles("ok", "ok", rss_bytes=1 << 20)
    after = cycles("ok", "ok", session=2, rss_bytes=200 << 20)
    memory = summarize(PLAN, before + after).memory
    assert memory is not None
    assert memory.flat
    assert memory.first_bytes == 200 << 20


def test_memory_that_grows_is_not_flat() -> None:
    grown = cycles("ok") + cycles("ok", rss_bytes=(1 << 20) + FLAT_BYTES + 1)
    memory = summarize(PLAN, grown).memory
    assert memory is not None
    assert not memory.flat


def test_the_account_of_all_runs_is_their_sum() -> None:
    item, two = cycles("ok", "ok")
    runs = [Latency(10, 8, 1, 1, 500), Latency(10, 10, 0, 0, 900)]
    result = summarize(
        PLAN,
        [
            Cycle(**{**{f: getattr(c, f) for f in c.__struct_fields__}, "latency": run})
            for c, run in zip((item, two), runs, strict=True)
        ],
    )
    assert (result.expected, result.overrun, result.dropped, result.max_ns) == (20, 1, 1, 900)


@pytest.mark.parametrize(
    ("check", "whole"),
    [
        (ConsoleCheck(100, begins=True, ends=True), True),
        (ConsoleCheck(100, begins=False, ends=True), False),
        (ConsoleCheck(100, begins=True, ends=False), False),
        (ConsoleCheck(100, begins=True, ends=True, cut=True), False),
        (ConsoleCheck(100, begins=None, ends=True), None),
        (ConsoleCheck(100, begins=True, ends=None), None),
    ],
)
def test_a_log_is_whole_only_on_evidence(check: ConsoleCheck, whole: bool | None) -> None:
    assert check.whole is whole


def test_a_soak_for_cycles_counts_those_that_say_something() -> None:
    assert not Goal(cycles=2).reached(cycles("ok", "interrupted"))
    assert Goal(cycles=2).reached(cycles("ok", "interrupted", "hung"))


def test_a_soak_for_a_time_counts_the_time_of_its_cycles() -> None:
    assert not Goal(seconds=31).reached(cycles("ok", "interrupted", "ok"))
    assert Goal(seconds=30).reached(cycles("ok", "interrupted", "ok"))
