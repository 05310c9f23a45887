"""The Universal Scalability Law: found again from its own values, and refused where it is wrong."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whylate.stats.scaling.universal import UnfitError, fit_universal, universal_throughput


@settings(max_examples=20, deadline=None)
@given(
    st.floats(1e-4, 1e4),
    st.floats(0.0, 0.9),
    st.floats(0.0, 0.05),
    st.lists(st.integers(2, 40), min_size=5, max_size=8, unique=True),
)
def test_it_follows_its_own_values_without_a_single_thread(
    alone: float, contention: float, coherence: float, counts: list[int]
) -> None:
    values = [universal_throughput(n, alone, contention, coherence) for n in counts]
    law = fit_universal(counts, values)
    for n in (*counts, max(counts) + 5):
        expected = universal_throughput(n, alone, contention, coherence)
        assert law.throughput(n) == pytest.approx(expected, rel=0.02)


def test_the_peak_is_where_a_thread_more_takes_as_much_as_it_gives() -> None:
    counts = [1, 2, 4, 8, 16, 32]
    law = fit_universal(counts, [universal_throughput(n, 5.0, 0.04, 0.0015) for n in counts])
    assert law.peak == pytest.approx(math.sqrt(0.96 / 0.0015), rel=1e-2)
    peak = round(law.peak or 0)
    assert law.throughput(peak) > max(law.throughput(peak // 2), law.throughput(2 * peak))
    rising = fit_universal(counts, [universal_throughput(n, 5.0, 0.04, 0.0) for n in counts])
    assert rising.peak is None or rising.peak > 1000


def test_three_numbers_are_too_few_and_the_reason_names_them() -> None:
    with pytest.raises(UnfitError, match=r"4 different numbers .* measured were 3"):
        fit_universal([1, 2, 4], [1.0, 1.9, 3.5])
    with pytest.raises(UnfitError, match="above zero"):
        fit_universal([1, 2, 4, 8], [1.0, 1.9, 0.0, 5.0])


def test_throughput_that_rises_for_each_is_refused() -> None:
    with pytest.raises(UnfitError, match="each rises from 4 to 8"):
        fit_universal([1, 2, 4, 8], [1.0, 2.0, 4.0, 14.0])


def test_the_cliff_from_six_tasks_to_seven_is_refused() -> None:
    # Hops per us of a ring: 1.19, 1.68 and 1.81 us a hop with 2, 6 and 7 tasks, and what follows a
    # cliff of a factor.
    with pytest.raises(UnfitError, match="off by"):
        fit_universal([2, 4, 5, 6, 7, 8], [1.0, 1.0, 1.0, 1.0, 0.5, 0.5])
