"""When timers were due, on the clock of the trace."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whylate.recording.traces.timers import LATEST_NS, MOST_TIMERS, Distance, Timers

HOUR_NS = 3_600_000_000_000


@given(
    st.integers(-HOUR_NS, HOUR_NS).filter(lambda away: abs(away) > 1_000_000),
    st.lists(st.integers(300, 40_000), min_size=5, max_size=60),
    st.integers(-100, 100),
)
def test_a_distant_clock_is_met_within_what_the_quickest_event_of_late_took(
    away: int, delays: list[int], drift_ppm: int
) -> None:
    distance = Distance()
    now = 2 * HOUR_NS
    for index, delay in enumerate(delays):
        now += 1_000_000
        true = now + away + now % HOUR_NS * drift_ppm // 1_000_000
        trace_time = distance.trace_time(true + delay, now)
        quickest = min(delays[max(0, index - 9) : index + 1])
        assert abs(trace_time - true) <= quickest + 20_000_000 * abs(drift_ppm) // 1_000_000 + 1


def test_the_timers_own_clock_is_known_as_such_and_nothing_is_added() -> None:
    distance = Distance()
    for delay in (900, 300, 40_000, 1500):
        assert distance.trace_time(HOUR_NS + delay, HOUR_NS) == HOUR_NS


def test_two_clocks_of_timers_are_kept_apart() -> None:
    distance = Distance()
    real_time = 1_795_000_000_000_000_000
    for step in range(10):
        at = HOUR_NS + step * 1_000_000
        assert distance.trace_time(at + 500, at) == at
        trace_time = distance.trace_time(at + 700, at + real_time)
        assert at <= trace_time <= at + 700


def test_a_start_that_was_lost_dates_nothing() -> None:
    timers = Timers()
    timers.started(b"1", 1000)
    assert timers.late(b"1", 1500) == 500
    assert timers.late(b"1", 2500) is None
    timers.started(b"2", 1000)
    assert timers.late(b"2", 1000 + LATEST_NS + 1) is None
    timers.started(b"3", 1000)
    timers.forget()
    assert timers.late(b"3", 1500) is None


def test_timers_that_never_expire_make_room_for_others() -> None:
    timers = Timers()
    for number in range(MOST_TIMERS + 1):
        timers.started(b"%d" % number, 1000)
    assert timers.late(b"0", 1500) is None
    assert timers.late(b"%d" % MOST_TIMERS, 1500) == 500
