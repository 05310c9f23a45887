from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from report_examples import cpu_samples

from whylate.recording.samples import CpuSamples
from whylate.report.plots.histogram import count_distribution, linear_bins, log_bins


def recorded(latency_ns: NDArray[np.int64], overrun: NDArray[np.bool_] | None = None) -> CpuSamples:
    n = latency_ns.size
    late = np.zeros(n, np.bool_) if overrun is None else overrun
    return CpuSamples(0, 0, 1_000_000, np.arange(n, dtype=np.int64), latency_ns, late)


latencies = arrays(
    np.int64, st.integers(0, 80), elements=st.integers(-(10**7), 4 * 10**10)
) | arrays(np.int64, st.integers(1, 80), elements=st.integers(-50, 5_000))


@given(latencies, latencies, st.integers(2, 40), st.sampled_from([1, 20, 30_500]))
def test_linear_bins_count_every_sample_once_where_it_is(
    first: NDArray[np.int64], second: NDArray[np.int64], max_bins: int, resolution_ns: int
) -> None:
    cpus = [recorded(first), recorded(second, np.ones(second.size, np.bool_))]
    bins = linear_bins(count_distribution(cpus), max_bins, resolution_ns)
    for at, cpu in enumerate(cpus):
        index, count = np.unique(cpu.latency_ns // bins.width_ns, return_counts=True)
        assert bins.index[at].tolist() == index.tolist()
        assert bins.count[at].tolist() == count.tolist()
        assert len(index) <= max_bins
    assert bins.overrun[0].sum() == 0
    assert bins.overrun[1].tolist() == bins.count[1].tolist()
    assert bins.width_ns >= resolution_ns


@given(latencies, st.integers(1, 40), st.sampled_from([1, 20, 30_500]))
def test_log_bins_count_every_sample_once_or_below(
    latency_ns: NDArray[np.int64], max_bins: int, resolution_ns: int
) -> None:
    cpu = recorded(latency_ns, latency_ns % 2 == 0)
    bins = log_bins(count_distribution([cpu]), max_bins, resolution_ns=resolution_ns)
    assert bins.count[0].sum() + bins.below[0] == latency_ns.size
    assert (np.diff(bins.edges_ns) > 0).all()
    assert bins.count[0].size <= max_bins
    for i, count in enumerate(bins.count[0]):
        inside = (latency_ns >= bins.edges_ns[i]) & (latency_ns < bins.edges_ns[i + 1])
        assert count == inside.sum()
        assert bins.overrun[0][i] == (inside & cpu.overrun).sum()


def test_nothing_is_capped_however_late() -> None:
    latency_ns = np.array([9_000] * 1_000 + [12_000_000_000], np.int64)
    counted = count_distribution([recorded(latency_ns)])
    linear, log = linear_bins(counted), log_bins(counted)
    assert linear.index[0][-1] * linear.width_ns <= 12_000_000_000
    assert (linear.index[0][-1] + 1) * linear.width_ns > 12_000_000_000
    assert log.edges_ns[-1] > 12_000_000_000
    assert log.count[0][-1] == 1


def test_a_narrow_body_gets_bins_finer_than_a_microsecond() -> None:
    assert linear_bins(count_distribution([cpu_samples(0, 20_000)])).width_ns == 100


def test_a_wide_body_gets_bins_of_a_microsecond() -> None:
    latency_ns = np.random.default_rng(1).integers(10_000, 400_000, 50_000)
    assert linear_bins(count_distribution([recorded(latency_ns)])).width_ns == 1_000


def test_a_stall_does_not_make_the_bins_of_the_body_wider() -> None:
    assert linear_bins(count_distribution([cpu_samples(0, 9_000, stall=80)])).width_ns == 100


def test_bins_are_never_finer_than_the_clock() -> None:
    steps = np.random.default_rng(1).integers(1, 9, 5_000) * 30_518
    counted = count_distribution([recorded(steps)])
    assert linear_bins(counted, resolution_ns=30_518).width_ns >= 30_518
    assert np.diff(log_bins(counted, resolution_ns=30_518).edges_ns)[:-1].min() >= 30_518


def test_negative_latencies_have_bins_of_their_own() -> None:
    bins = linear_bins(count_distribution([recorded(np.array([-250, -1, 0, 1, 3_000], np.int64))]))
    negative = bins.index[0] < 0
    assert bins.count[0][negative].sum() == 2


def test_a_run_without_samples_has_no_bins() -> None:
    nothing = recorded(np.zeros(0, np.int64))
    assert linear_bins(count_distribution([nothing])).count[0].size == 0
    assert log_bins(count_distribution([nothing])).edges_ns.size == 0
    assert linear_bins(count_distribution([])).count == ()


def test_a_bound_of_no_bins_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        linear_bins(count_distribution([]), 1)
