"""The summary of a program's wakeups: what holds of any run, and its threads."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from app_runs import REPORT, SECOND, app_manifest, several_threads, woken_cpu_series
from whylate.recording.manifest import Fact
from whylate.recording.samples import CpuSamples
from whylate.recording.workloads.app import CommandTarget
from whylate.summary.as_json import to_json
from whylate.summary.figures import MOST_THREADS
from whylate.summary.model import Summary
from whylate.summary.summarize import summarize
from whylate.summary.verdicts import overall


def summary_of(series: list[CpuSamples], *requirements: str, **options: object) -> Summary:
    return summarize(series, app_manifest(series, **options), "r", requirements)  # type: ignore[arg-type]


def test_the_slowest_threads_have_figures_of_their_own() -> None:
    series = several_threads()
    found = summary_of(series, names={319: "slow"})
    assert found.threads == 20
    assert len(found.per_thread) == MOST_THREADS
    worst = [one.latency_ns["max"].value or 0 for one in found.per_thread]
    assert worst == sorted(worst, reverse=True)
    first = found.per_thread[0]
    own = np.concatenate(
        [one.latency_ns[one.woken.pid == first.pid] for one in series if one.woken is not None]
    )
    assert first.seen == own.size == 2_000
    assert first.latency_ns["max"].value == own.max() == found.together.latency_ns["max"].value
    assert first.latency_ns["p50"].value == np.sort(own)[999]
    assert {one.pid: one.name for one in found.per_thread}[319] == "slow"


def test_all_threads_together_are_the_run() -> None:
    series = several_threads()
    found = summary_of(series)
    together = np.sort(np.concatenate([one.latency_ns for one in series]))
    assert found.together.seen == together.size
    assert found.together.latency_ns["p99"].value == together[int(0.99 * together.size) - 1]
    assert found.together.latency_ns["p99"].high is not None
    assert [one.seen for one in found.per_cpu] == [20_000, 20_000]


def test_requirements_are_judged_over_all_threads() -> None:
    series = several_threads()
    found = summary_of(series, "p99<1s", "p50<1us", "over(1s)<1/1s")
    assert [one.verdict for one in found.requirements] == ["pass", "fail", "pass"]
    assert overall(found.requirements, found.trust) == "fail"


@pytest.mark.parametrize(
    ("recorder", "says"),
    [
        (None, "the probe gave no reason"),
        (replace(REPORT, engine=None, refused="no BTF"), "sees a program's wakeups: no BTF."),
    ],
)
def test_without_a_recorder_no_requirement_passes(recorder: object, says: str) -> None:
    found = summary_of(several_threads(), "p99<1s", recorder=recorder)
    assert found.trust.verdict == "no verdict"
    assert says in found.trust.reasons[0]
    assert found.requirements[0].verdict == "no verdict"


def test_what_was_dropped_voids_the_run() -> None:
    found = summary_of(several_threads(), dropped=3)
    assert found.trust.reasons == [
        "6 of 40,006 activations were dropped: measure again, for a shorter time."
    ]


def test_priorities_and_intervals_of_the_probe_are_no_matter() -> None:
    series = several_threads()
    manifest = app_manifest(series)
    rival = Fact("rt_tasks", ["pacer fifo 98 pid 77"], "/proc")
    found = summarize(series, replace(manifest, facts=[rival]), "r")
    assert found.trust.verdict == "ok"
    assert {one.code for one in found.warnings} <= {"drift"}


def test_a_thread_that_wakes_ten_times_has_no_p99() -> None:
    cpu_series = woken_cpu_series(np.arange(10) * SECOND, np.arange(10) + 5_000, end_ns=10 * SECOND)
    found = summary_of([cpu_series])
    assert found.threads == 1
    missing = found.per_thread[0].latency_ns["p99"]
    assert missing.value is None
    assert missing.reason == (
        "p99 needs 10 activations beyond it, that is 1,000 activations (16 min); there are 10"
    )


def test_the_json_has_the_program_and_its_threads() -> None:
    found = to_json(summary_of(several_threads(), app=CommandTarget(["./pacer", "--fast"]),
                               names={319: "slow"}))  # fmt: skip
    assert found["workload"] == "app"
    assert found["app"] == {"comm": None, "pid": None, "command": ["./pacer", "--fast"]}
    assert found["threads"] == 20
    assert len(found["per_thread"]) == MOST_THREADS
    assert set(found["per_thread"][0]) == {"pid", "name", "seen", "min_ns", "latency_ns"}
