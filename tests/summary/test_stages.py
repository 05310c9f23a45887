"""Interrupt and thread latency: what is known of them, also where they were not seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from summary_examples import cpu, latencies, manifest

from whylate.recording.samples import CpuSamples, CpuStages
from whylate.summary.as_json import to_json
from whylate.summary.model import StageFigures, Summary
from whylate.summary.stages import STAGES
from whylate.summary.summarize import summarize
from whylate.wire.constants import NOT_SEEN

N = 20_000


def staged(
    samples: CpuSamples, unseen: NDArray[np.bool_] | None = None, thread_part: float = 0.9
) -> CpuSamples:
    """The interrupt comes at half of the latency, the CPU at nine tenths."""
    lost = samples.overrun if unseen is None else samples.overrun | unseen

    def stage(part: float) -> NDArray[np.int32]:
        times = np.round(samples.latency_ns * part).astype(np.int32)
        return np.where(lost, np.int32(NOT_SEEN), times)

    return replace(samples, stages=CpuStages(stage(0.5), stage(thread_part)))


def summary_of(*samples: CpuSamples) -> Summary:
    return summarize(samples, manifest(samples), "a run")


def stage_of(name: str, *samples: CpuSamples) -> StageFigures:
    return summary_of(*samples).together.stages[name]


def test_where_all_were_seen_their_quantiles_are_order_statistics() -> None:
    samples = cpu(0, latencies(N))
    for name, part in zip(STAGES, (0.5, 0.9), strict=True):
        found = stage_of(name, staged(samples))
        p99 = found.latency_ns["p99"]
        assert p99.value is not None
        wanted = part * np.sort(samples.latency_ns)[int(0.99 * N) - 1]
        assert abs(p99.value - wanted) <= 1
        assert p99.low is not None
        assert p99.high is not None
        assert p99.low < p99.value < p99.high
        assert (found.seen, found.not_seen, p99.at_least) == (N, 0, False)


def test_thread_latency_that_is_nearly_all_of_it_has_the_interval_of_the_latency() -> None:
    samples = cpu(0, latencies(N))
    figures = summary_of(staged(samples, thread_part=1.0)).together
    assert figures.stages["thread"].latency_ns == figures.latency_ns


def test_a_quantile_without_enough_activations_is_refused_as_that_of_the_latency_is() -> None:
    figures = summary_of(staged(cpu(0, latencies(N)))).together
    found = figures.stages["interrupt"].latency_ns["p99.99"]
    assert found.value is None
    assert found == figures.latency_ns["p99.99"]


def test_what_was_not_seen_makes_a_quantile_a_bound_between_nothing_and_the_latency() -> None:
    samples = cpu(0, latencies(N))
    unseen = np.random.default_rng(3).random(N) < 0.2
    found = stage_of("interrupt", staged(samples, unseen))
    p50 = found.latency_ns["p50"]
    assert found.not_seen == unseen.sum()
    assert p50.value is not None
    assert p50.low is not None
    assert p50.high is not None
    assert p50.at_least
    truth = np.quantile(samples.latency_ns, 0.5) / 2
    assert p50.low <= p50.value < truth < p50.high


def test_one_that_was_not_seen_may_hide_the_maximum() -> None:
    values = latencies(N)
    values[100] = 10**9
    unseen = np.arange(N) == 100
    found = stage_of("interrupt", staged(cpu(0, values), unseen)).latency_ns["max"]
    assert found.value is not None
    assert found.value < 10**9
    assert found.at_least
    # One that surely came sooner than the longest that was seen hides nothing.
    unseen = np.arange(N) == int(np.argmin(values))
    exact = stage_of("interrupt", staged(cpu(0, values), unseen)).latency_ns["max"]
    assert (exact.value, exact.at_least) == (10**9 // 2, False)


def test_an_overrun_has_no_stage_and_no_upper_bound() -> None:
    samples = cpu(0, latencies(N), overrun=range(300, 400))
    found = stage_of("thread", staged(samples))
    p999 = found.latency_ns["p99.9"]
    assert found.not_seen == 100
    assert p999.high is None
    assert p999.reason is None or "overruns" in p999.reason or "episodes" in p999.reason


def test_every_cpu_has_its_own_and_json_has_all() -> None:
    first, second = staged(cpu(0, latencies(N))), staged(cpu(1, 2 * latencies(N)))
    document = to_json(summary_of(first, second))
    medians = [
        one["interrupt_latency"]["latency_ns"]["p50"]["value"] for one in document["per_cpu"]
    ]
    assert abs(medians[1] - 2 * medians[0]) <= 2
    assert document["thread_latency"]["seen"] == 2 * N


def test_a_cpu_whose_stages_were_lost_is_counted_beside_one_that_has_them() -> None:
    found = stage_of("thread", staged(cpu(0, latencies(N))), cpu(1, latencies(N)))
    assert (found.seen, found.not_seen) == (N, N)


def test_a_run_without_a_recorder_has_none() -> None:
    summary = summary_of(cpu(0, latencies(N)))
    assert summary.together.stages == {}
    assert "interrupt_latency" not in to_json(summary)
