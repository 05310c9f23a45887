"""Statistics of activations that no schedule made: each series says when they were due."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from stats_examples import clustered, cpu_series, ordered

from app_runs import MS, SECOND, woken_cpu_series
from whylate.recording.samples import CpuSamples
from whylate.report.plots.timeline import timeline
from whylate.stats.run.cpu_series import due_span, observed_s, positions, time_blocks
from whylate.stats.run.dependence import block_count
from whylate.stats.run.drift import trend_tests
from whylate.stats.run.episodes import episode_starts
from whylate.stats.run.extremes import estimate_extremal_index, no_exceedance
from whylate.stats.run.quantiles import estimate_quantile
from whylate.stats.run.rates import estimate_episode_rate


def given(cpu: CpuSamples) -> CpuSamples:
    """Return the same activations, with due times of their own instead of a schedule."""
    end_ns = cpu.start_ns + cpu.watched_ns
    found = woken_cpu_series(cpu.due_ns, cpu.latency_ns, end_ns=end_ns)
    return replace(found, start_ns=cpu.start_ns, overrun=cpu.overrun)


def scheduled() -> list[CpuSamples]:
    first = cpu_series(clustered(20_000, 40, 5, 1), overrun=[77, 78])
    return [first, cpu_series(clustered(20_000, 30, 4, 2), start_ns=300_000)]


def test_what_a_schedule_says_and_what_a_series_says_gives_the_same_statistics() -> None:
    series, own = scheduled(), [given(one) for one in scheduled()]
    assert due_span(own) == due_span(series)
    assert observed_s(own) == observed_s(series)
    events = [np.flatnonzero(cpu.latency_ns > 50_000) for cpu in series]
    assert positions(own, events).tolist() == positions(series, events).tolist()
    blocks, own_blocks = (time_blocks(x, block_count(20_000)) for x in (series, own))
    assert [e.tolist() for e in own_blocks.edges] == [e.tolist() for e in blocks.edges]
    starts, own_starts = episode_starts(series, 50_000), episode_starts(own, 50_000)
    assert [s.tolist() for s in own_starts] == [s.tolist() for s in starts]
    index = estimate_extremal_index(ordered(*series), series, "episodes")
    assert estimate_extremal_index(ordered(*own), own, "episodes") == index
    assert estimate_episode_rate(own, 50_000, index) == estimate_episode_rate(series, 50_000, index)
    q = Fraction(999, 1000)
    assert estimate_quantile(ordered(*own), own, own_blocks, q) == estimate_quantile(
        ordered(*series), series, blocks, q
    )
    assert trend_tests(ordered(*own), own) == trend_tests(ordered(*series), series)
    assert no_exceedance(ordered(*own), own, index, index) == no_exceedance(
        ordered(*series), series, index, index
    )


def test_the_page_draws_the_same_timeline() -> None:
    series, own = scheduled(), [given(one) for one in scheduled()]
    found, wanted = timeline(own, 500), timeline(series, 500)
    assert (found.start_ns, found.width_ns, found.bins) == (
        wanted.start_ns, wanted.width_ns, wanted.bins
    )  # fmt: skip
    for cpu_figures, other in zip(found.cpus, wanted.cpus, strict=True):
        assert cpu_figures.count.tolist() == other.count.tolist()
        assert cpu_figures.max_ns.tolist() == other.max_ns.tolist()


def test_threads_of_one_cpu_whose_windows_overlap_are_one_episode() -> None:
    # The first waits from 1 to 4 ms, the second within it, the third from its end on.
    due_ns = [1 * MS, 2 * MS, 4 * MS + 1, 20 * MS]
    one = woken_cpu_series(due_ns, [3 * MS, 1 * MS, 2 * MS, 1 * MS], [301, 302, 303, 301])
    assert [s.tolist() for s in episode_starts([one], 500_000)] == [[0, 2, 3]]


def test_rows_may_come_in_any_order_of_their_numbers() -> None:
    one = woken_cpu_series([5 * MS, 1 * MS, 3 * MS], [10, 20, 30])
    assert one.activation.tolist() == [1, 2, 0]
    assert one.due_of(np.array([0, 2])).tolist() == [1 * MS, 5 * MS]
    assert one.rows_due(np.array([0, 1 * MS, 1 * MS + 1, 9 * MS])).tolist() == [0, 0, 1, 3]


def test_a_cpu_is_watched_though_little_wakes_there() -> None:
    quiet, busy = (
        woken_cpu_series([5], [9], end_ns=SECOND),
        woken_cpu_series(range(0, SECOND, MS), [9] * 1000),
    )
    assert observed_s([quiet]) == pytest.approx(1)
    assert quiet.per_s == pytest.approx(1)
    assert busy.per_s == pytest.approx(1000, rel=0.01)
    assert observed_s([woken_cpu_series([], [], end_ns=SECOND)]) == pytest.approx(1)
