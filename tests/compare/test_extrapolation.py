"""The gate of extrapolation closes for each of its reasons, and opens for none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from tails import excess_ns, level_ns, tail, tails

from whylate.compare.extrapolation import Extrapolation, extrapolate
from whylate.stats.tail.return_level import RunTail

HOUR = 3600.0


def failed(found: Extrapolation) -> list[str]:
    return [check.name for check in found.checks if check.outcome == "failed"]


def test_where_the_gate_is_open_the_interval_holds_the_level() -> None:
    held = []
    for seed in range(1, 11):
        found = extrapolate(tails(seed=seed), HOUR)
        if found.low_ns is not None and found.high_ns is not None:
            held.append(found.low_ns <= level_ns(HOUR) <= found.high_ns)
    assert len(held) >= 7
    assert sum(held) >= len(held) - 1


def test_what_is_said_is_labelled_and_lists_all_checks() -> None:
    found = extrapolate(tails(), HOUR)
    assert found.level_ns is not None
    assert "for the mechanisms seen" in found.label
    assert [check.outcome for check in found.checks] == ["passed"] * 10
    assert found.reasons == ()
    assert found.most_s == pytest.approx(9000)
    assert found.episodes == 1000


def test_more_than_ten_times_what_was_observed_is_refused() -> None:
    runs = tails()
    assert failed(extrapolate(runs, 8_999)) == []
    found = extrapolate(runs, 9_100)
    assert failed(found) == ["reach"]
    assert (found.level_ns, found.low_ns, found.high_ns) == (None, None, None)
    assert "ask for 2.5 h at most" in found.reasons[0]
    # Episodes in clusters are worth less.
    clustered = [replace(run, theta=0.3) for run in runs]
    assert failed(extrapolate(clustered, 3_100)) == ["reach"]


def test_what_came_often_needs_no_extrapolation() -> None:
    found = extrapolate(tails(), 2.0)
    assert failed(found) == ["reach"]
    assert "came about 500 times" in found.reasons[0]


def test_nine_runs_are_too_few() -> None:
    found = extrapolate(tails(9), HOUR)
    assert failed(found) == ["runs"]
    assert found.reasons == ("10 runs are the least; there are 9",)
    outcomes = {check.name: check.outcome for check in found.checks}
    assert outcomes["shape"] == "not tried"
    assert extrapolate([], HOUR).level_ns is None


def test_a_recording_named_twice_is_one_run() -> None:
    runs = tails(9)
    found = extrapolate([*runs, runs[0]], HOUR)
    assert failed(found) == ["runs"]
    assert "1 of 10 runs are copies" in found.reasons[0]


def few(runs: Sequence[RunTail]) -> list[RunTail]:
    return [replace(run, rows=10_000) for run in runs]


def unclear_clusters(runs: Sequence[RunTail]) -> list[RunTail]:
    return [*runs[:-1], replace(runs[-1], theta=None)]


def in_clusters(runs: Sequence[RunTail]) -> list[RunTail]:
    return [replace(run, theta=0.1) for run in runs]


def overrun(runs: Sequence[RunTail]) -> list[RunTail]:
    at_least = runs[3].peaks.at_least.copy()
    at_least[5] = True
    return [
        *runs[:3],
        replace(runs[3], peaks=replace(runs[3].peaks, at_least=at_least)),
        *runs[4:],
    ]


def coarse(runs: Sequence[RunTail]) -> list[RunTail]:
    steps = [run.peaks.latency_ns // 5_000 * 5_000 for run in runs]
    return [
        replace(run, peaks=replace(run.peaks, latency_ns=step))
        for run, step in zip(runs, steps, strict=True)
    ]


def drift_in_one(runs: Sequence[RunTail]) -> list[RunTail]:
    return [replace(runs[0], drift_p=1e-5), *runs[1:]]


def a_little_drift_in_all(runs: Sequence[RunTail]) -> list[RunTail]:
    return [replace(run, drift_p=0.05) for run in runs]


def short(runs: Sequence[RunTail]) -> list[RunTail]:
    return [*runs[:-1], replace(runs[-1], drift_p=None)]


def medians_rise(runs: Sequence[RunTail]) -> list[RunTail]:
    return [replace(run, p50_ns=5_000 + 60 * n) for n, run in enumerate(runs)]


def two_placements(runs: Sequence[RunTail]) -> list[RunTail]:
    return [replace(run, p99_ns=run.p99_ns * (2 if n in (1, 4, 6) else 1))
            for n, run in enumerate(runs)]  # fmt: skip


def one_is_odd(runs: Sequence[RunTail]) -> list[RunTail]:
    return [*runs[:4], replace(runs[4], p50_ns=6_000), *runs[5:]]


def one_has_all(runs: Sequence[RunTail]) -> list[RunTail]:
    own = replace(runs[2].peaks, latency_ns=runs[2].peaks.latency_ns * 20)
    return [*runs[:2], replace(runs[2], peaks=own), *runs[3:]]


def second_mode(runs: Sequence[RunTail]) -> list[RunTail]:
    rng = np.random.default_rng(4)
    found = []
    for number, run in enumerate(runs):
        rare = 900_000 * np.exp(0.1 * rng.standard_normal(1 if number < 6 else 0))
        peaks = np.concatenate([run.peaks.latency_ns, rare])
        found.append(tail(peaks, number))
    return found


def end_in_sight(runs: Sequence[RunTail]) -> list[RunTail]:
    rng = np.random.default_rng(5)
    return [tail(20_000 + excess_ns(rng, 1_000, -0.8), n) for n, _ in enumerate(runs)]


def bent(runs: Sequence[RunTail]) -> list[RunTail]:
    """Make the usual end at 80 µs, and another mechanism go on far beyond."""
    rng = np.random.default_rng(5)
    found = []
    for number, _ in enumerate(runs):
        usual = 20_000 + 60_000 * rng.random(970)
        rest = 70_000 + 10 * excess_ns(rng, 30, 0.4)
        found.append(tail(np.concatenate([usual, rest]), number))
    return found


@pytest.mark.parametrize(
    ("spoilt", "check", "says"),
    [
        (few, "episodes", "about 4 times as long"),
        (unclear_clusters, "episodes", "about 3 times as long"),
        (in_clusters, "episodes", "about 2.0 times as long"),
        (overrun, "known", "only a lower bound is known"),
        (coarse, "clock", "by a finer clock"),
        (drift_in_one, "steady", "drifted within runs"),
        (a_little_drift_in_all, "steady", "drifted within runs"),
        (short, "steady", "10,000 activations on a CPU are the least"),
        (medians_rise, "alike", "the median moved from run to run"),
        (two_placements, "alike", "two groups by p99"),
        (one_is_odd, "alike", "one run is an outlier"),
        (one_has_all, "alike", "one run alone has most"),
        (second_mode, "one mechanism", "as if of another mechanism"),
        (end_in_sight, "shape", "ends just beyond what was seen"),
        (bent, "shape", "depends on where it is taken to begin"),
    ],
)
def test_the_gate_closes(
    spoilt: Callable[[Sequence[RunTail]], list[RunTail]], check: str, says: str
) -> None:
    found = extrapolate(spoilt(tails()), 900.0)
    assert check in failed(found)
    assert any(says in reason for reason in found.reasons)
    assert (found.level_ns, found.low_ns, found.high_ns) == (None, None, None)


def test_runs_that_must_not_be_judged_bear_no_extrapolation() -> None:
    found = extrapolate(tails(), HOUR, distrust="samples were lost")
    assert failed(found) == ["trusted"]
    assert found.reasons == ("samples were lost",)
