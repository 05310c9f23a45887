import numpy as np
import pytest
from stats_examples import MS, cpu_series

from whylate.stats.run.cpu_series import observed_s, positions, time_blocks


def test_positions_are_those_of_a_full_sort_by_due_time_and_series() -> None:
    rng = np.random.default_rng(3)
    series = [
        cpu_series(
            rng.integers(0, 100, 60),
            activation=np.sort(rng.choice(90, 60, replace=False)),
            start_ns=start,
            interval_ns=interval,
        )
        for start, interval in ((0, MS), (250_000, MS), (0, 3 * MS // 2))
    ]
    events = [cpu.latency_ns > 70 for cpu in series]
    places = positions(series, [np.flatnonzero(mask) for mask in events])
    rows = sorted(
        (one.start_ns + int(number) * one.interval_ns, index, bool(hit))
        for index, (one, mask) in enumerate(zip(series, events, strict=True))
        for number, hit in zip(one.activation, mask, strict=True)
    )
    expected = [place for place, (_, _, hit) in enumerate(rows) if hit]
    assert places.tolist() == expected


def test_blocks_hold_every_row_once_and_leave_gaps_empty() -> None:
    first = cpu_series(np.arange(100), activation=np.r_[0:50, 150:200])
    second = cpu_series(np.arange(200), start_ns=300_000)
    found = time_blocks([first, second], 8)
    assert found.totals.sum() == 300
    assert found.totals.tolist() == [50, 50, 25, 25, 25, 25, 50, 50]
    events = [np.arange(50, 100), np.arange(0)]
    assert found.count(events).tolist() == [0, 0, 0, 0, 0, 0, 25, 25]


def test_blocks_of_nothing_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least one activation"):
        time_blocks([cpu_series([])], 4)


def test_observed_time_does_not_grow_with_the_number_of_cpus() -> None:
    assert observed_s([cpu_series(np.zeros(1000))]) == pytest.approx(1.0)
    assert observed_s([cpu_series(np.zeros(1000)), cpu_series(np.zeros(1000))]) == pytest.approx(
        1.0
    )
    assert observed_s([]) == 0.0
