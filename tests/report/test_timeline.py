from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_examples import cpu_samples

from whylate.recording.samples import CpuSamples
from whylate.report.plots.timeline import timeline


@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=60, unique=True),
    st.lists(st.integers(0, 400), max_size=60, unique=True),
    st.integers(0, 900),
    st.integers(1, 30),
)
def test_every_sample_is_in_the_bin_in_which_it_was_due(
    first: list[int], second: list[int], shift: int, max_bins: int
) -> None:
    cpus = []
    for cpu, chosen in enumerate((first, second)):
        rng = np.random.default_rng(cpu)
        n = len(chosen)
        cpus.append(
            CpuSamples(
                cpu, 5_000 + shift * cpu, 700 + 300 * cpu, np.array(sorted(chosen), np.int64),
                rng.integers(-900, 90_000, n), rng.random(n) < 0.3,
            )
        )  # fmt: skip
    found = timeline(cpus, max_bins)
    assert found.bins <= max_bins
    for samples, line in zip(cpus, found.cpus, strict=True):
        place = (samples.due_ns - found.start_ns) // found.width_ns
        assert line.count.tolist() == np.bincount(place, minlength=found.bins).tolist()
        for i in np.unique(place):
            assert line.max_ns[i] == samples.latency_ns[place == i].max()
            assert line.overrun[i] == samples.overrun[place == i].sum()


def test_the_worst_latency_of_the_run_stands_where_it_happened() -> None:
    cpu = cpu_samples(0, 60_000)
    found = timeline([cpu])
    worst = int(np.argmax(cpu.latency_ns))
    assert found.cpus[0].max_ns.max() == cpu.latency_ns[worst]
    bin_of_worst = (cpu.due_ns[worst] - found.start_ns) // found.width_ns
    assert np.argmax(found.cpus[0].max_ns) == bin_of_worst
    assert found.cpus[0].overrun.sum() == 30


def test_no_bin_is_shorter_than_the_interval() -> None:
    assert (timeline([cpu_samples(0, 40, stall=0)]).cpus[0].count == 1).all()


def test_a_stretch_without_samples_stays_empty() -> None:
    whole = cpu_samples(0, 10_000, stall=0)
    kept = np.r_[0:3_000, 6_000:10_000]
    gap = CpuSamples(
        0, whole.start_ns, whole.interval_ns, whole.activation[kept], whole.latency_ns[kept],
        whole.overrun[kept],
    )  # fmt: skip
    assert (timeline([gap], 100).cpus[0].count[31:59] == 0).all()


def test_the_band_holds_the_quantiles_of_its_stretch() -> None:
    cpus = [cpu_samples(c, 40_000) for c in range(2)]
    found = timeline(cpus)
    assert found.band is not None
    end = found.start_ns + found.band.bins_each * found.width_ns
    values = np.concatenate([c.latency_ns[c.due_ns < end] for c in cpus])
    assert values.size >= 1_000
    assert found.band.p50_ns[0] == np.sort(values)[values.size // 2]
    assert found.band.p99_ns[0] == np.sort(values)[values.size * 99 // 100]


def test_no_quantile_is_drawn_from_too_few_samples() -> None:
    assert timeline([cpu_samples(0, 5_000)]).band is None


def test_a_run_without_samples_has_an_empty_line() -> None:
    found = timeline([cpu_samples(0, 0, stall=0)])
    assert found.cpus[0].count.sum() == 0
    assert found.band is None


def test_a_bound_of_no_bins_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        timeline([], 0)
