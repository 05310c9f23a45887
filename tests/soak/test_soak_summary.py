"""What a soak says: limits that hold, and nothing about the board that was our own doing."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from soak_plans import wakeup_soak
from whylate.cli.board.soak_table import print_table
from whylate.soak.carry_out import Goal, Spent, count_judged
from whylate.soak.model import Cause, ConsoleCheck, Cycle, Latency, Outcome, RunFigure
from whylate.soak.summary import FLAT_BYTES, summarize, times

PLAN = wakeup_soak()


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


def test_the_limits_of_the_rate_an_hour_are_exact() -> None:
    # Of 360 cycles of 10 s; R: poisson.test(3, 1)$conf.int.
    outcomes: list[Outcome] = ["crashed" if n < 3 else "ok" for n in range(360)]
    hourly = summarize(PLAN, cycles(*outcomes)).failures.hourly
    assert hourly is not None
    assert hourly.per_hour == pytest.approx(3)
    assert (hourly.low, hourly.high) == pytest.approx((0.6186721, 8.767273), rel=1e-6)


def test_a_cycle_counts_under_every_kind_of_its_causes() -> None:
    crash = Cause("program-crashed", "segfault", "cc1[7]: segfault", count=4)
    job = Cause("job-failed", "status 2", "it ended with status 2")
    first, second, third, fine = cycles("program-crashed", "job-failed", "program-crashed", "ok")
    replace = msgspec.structs.replace
    failed = [
        replace(first, causes=[crash, job]),
        replace(second, causes=[job]),
        replace(third, causes=[replace(crash, what="OOM kill", count=1)]),
        fine,
    ]
    result = summarize(PLAN, failed)
    assert result.failures.count == 3
    jobs, programs = result.kinds
    assert (jobs.kind, jobs.rate.count, jobs.first_cycle) == ("job-failed", 2, 1)
    assert (programs.kind, programs.rate.count) == ("program-crashed", 2)
    assert [
        (c.what, c.rate.count, c.rate.of, c.events, c.first_cycle) for c in programs.causes
    ] == [
        ("segfault", 1, 4, 4, 1),
        ("OOM kill", 1, 4, 1, 3),
    ]


def test_figures_are_of_cycles_that_did_not_fail() -> None:
    replace = msgspec.structs.replace
    soaked = [
        replace(cycle, run_s=value, figures=[RunFigure("wall time", value, "s")])
        for cycle, value in zip(cycles("ok", "job-failed", "ok"), (10.0, 1.0, 12.0), strict=True)
    ]
    result = summarize(PLAN, soaked)
    (figure,) = result.figures
    assert (figure.name, figure.unit, figure.count) == ("wall time", "s", 2)
    assert (figure.min, figure.median, figure.max) == (10.0, 11.0, 12.0)
    assert result.run is not None
    assert result.run.median_s == 11.0


def test_the_unit_of_a_figure_does_not_act_in_a_terminal_and_is_bounded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = "\x1b[2Jms\u202e" + "x" * 500
    cycle = msgspec.structs.replace(cycles("ok")[0], figures=[RunFigure("value", 7.5, unit)])
    print_table(summarize(PLAN, [cycle]), tmp_path, "")
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert "x" * 30 not in printed


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
    assert count_judged(cycles("ok", "interrupted", "hung")) == 2
    assert not Goal(cycles=2).reached(1, 1e9)
    assert Goal(cycles=2).reached(2, 0.0)


def test_a_soak_for_a_time_counts_the_time_between_its_cycles_too() -> None:
    spent = Spent(cycles("ok", "interrupted", "ok"), off_s=2.0)
    assert 36 <= spent.seconds < 37
    assert not Goal(seconds=37).reached(2, spent.seconds)
    assert Goal(seconds=36).reached(2, spent.seconds)
    time.sleep(1.0)
    assert Goal(seconds=37).reached(2, spent.seconds)
