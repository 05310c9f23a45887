"""The worst latency of pieces together: the response-time equation, and where it has no answer."""

from __future__ import annotations

import numpy as np
import pytest

from whylate.stats.tail.worst_together import Recurring, shortest_spans, worst_together


def test_an_interrupt_with_a_period_counts_as_in_response_time_analysis() -> None:
    # C = 2 each 10, after 7 once: 7 + 2 = 9 < 10, then 9 + 2 = 11, in which it came twice.
    tick = Recurring("tick", 2, (0,), 10)
    assert worst_together([7], [tick], 0) == 9
    assert worst_together([8], [tick], 0) == 12
    assert worst_together([8], [tick, Recurring("net", 3, (0,), 100)], 0) == 15


def test_arrivals_are_those_of_the_densest_time_that_was_seen() -> None:
    burst = Recurring("net", 1, (0, 5, 6), 50)
    assert [burst.arrivals(t) for t in (0, 4, 5, 6, 49, 50, 99, 100)] == [1, 1, 2, 3, 3, 4, 6, 7]
    assert Recurring("none", 1, (), 50).arrivals(1_000) == 0


def test_spans_are_the_shortest_of_all_windows_and_more_arrivals_take_no_less() -> None:
    assert shortest_spans([[0, 10, 15], [100, 140], []]) == (0, 5, 15)
    # The second window has two arrivals further apart than three of the first.
    assert shortest_spans([[0, 3, 4, 9]]) == (0, 1, 4, 9)


def test_of_dense_arrivals_all_count_and_none_is_taken_to_come_later_than_it_did() -> None:
    # 20 ms of an interrupt at 25 kHz.
    even = shortest_spans([range(0, 20_000_000, 40_000)])
    assert even == tuple(range(0, 20_000_000, 40_000))
    assert Recurring("irq", 1, even, 20_000_000).arrivals(19_999_999) == 500
    times = np.cumsum(np.random.default_rng(3).integers(1, 100, 700))
    spans = shortest_spans([times.tolist()])
    true = [int((times[gaps:] - times[: 700 - gaps]).min()) for gaps in range(700)]
    assert len(spans) == 700
    assert spans[:200] == tuple(true[:200])
    assert all(span <= exact for span, exact in zip(spans, true, strict=True))
    assert list(spans) == sorted(spans)


def test_no_true_schedule_is_worse_than_the_bound_from_all_of_it() -> None:
    """Random interrupts, in a run whose windows show all: any activation stays below the bound."""
    rng = np.random.default_rng(7)
    for _ in range(30):
        period, cost = int(rng.integers(40, 90)), int(rng.integers(1, 20))
        times = np.cumsum(rng.integers(period, 3 * period, 60)).tolist()
        starts = [[t for t in times if begin <= t < begin + 200] for begin in range(0, 4_000, 10)]
        recurring = Recurring("irq", cost, shortest_spans(starts), 200)
        section = int(rng.integers(5, 60))
        bound = worst_together([section], [recurring], 0)
        assert bound is not None
        for due in rng.integers(0, 3_500, 50).tolist():
            assert _simulated(due, section, times, cost) <= bound


def _simulated(due: int, section: int, times: list[int], cost: int) -> int:
    """Return when a section that begins at due is over, with interrupts of `cost` in it."""
    left, at = section, due
    coming = [t for t in times if t >= due]
    while left or (coming and coming[0] <= at):
        if coming and coming[0] <= at:
            coming.pop(0)
            at += cost
        else:
            step = min(left, (coming[0] - at) if coming else left)
            left -= step
            at += step
    return at - due


def test_it_is_never_below_what_was_seen() -> None:
    assert worst_together([5], [], 300) == 300
    tick = Recurring("tick", 2, (0,), 10)
    # 20 was seen, of pieces that make 9: the largest seen stands.
    assert worst_together([7], [tick], 20) == 20
    # 9 is a solution too, but 11 was seen, and then the tick can come a third time.
    assert worst_together([9], [tick], 13) == 13


def test_what_takes_the_whole_cpu_has_no_bound() -> None:
    assert worst_together([1], [Recurring("storm", 10, (0,), 10)], 0) is None
    assert worst_together([1], [Recurring("storm", 11, (0,), 10)], 0) is None


@pytest.mark.parametrize("seen", [0, 1_000])
def test_nothing_together_is_what_was_seen(seen: int) -> None:
    assert worst_together([], [], seen) == seen
