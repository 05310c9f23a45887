from typing import Any

import numpy as np
import pytest
from summary_examples import account, cpu, latencies, manifest

from whylate.recording.manifest import LoadReport, Problem
from whylate.recording.plan import LoadPlan
from whylate.summary.trust import assess

GOOD = [cpu(0, latencies(100, 1)), cpu(1, latencies(100, 2))]
MEMORY = LoadPlan("memory", 2)


def _reasons(samples: Any = None, **parts: Any) -> Any:
    samples = GOOD if samples is None else samples
    return assess(manifest(samples, **parts), samples).trust.reasons


def _one(**changes: Any) -> Any:
    samples = [cpu(0, latencies(100))]
    return _reasons(samples, accounts=[account(samples[0], **changes)])


def test_a_run_in_order_is_trusted() -> None:
    found = assess(manifest(GOOD), GOOD)
    assert (found.trust.verdict, found.trust.reasons) == ("ok", [])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"expected": 103, "dropped": 3}, "3 of 103 activations were dropped"),
        ({"expected": 104}, "do not add up"),
        ({"policy": "other"}, 'policy "other" instead of fifo'),
        ({"priority": 79}, "priority 79 instead of 80"),
        ({"memory_locked": False}, "memory was not locked"),
        ({"seen": 99, "overrun": 1}, "do not match the manifest"),
    ],
)
def test_an_account_with_a_flaw_gives_no_verdict_and_says_which(changes: Any, says: str) -> None:
    reasons = _one(**changes)
    assert len(reasons) == 1
    assert says in reasons[0]


@pytest.mark.parametrize(
    ("during", "error", "says"),
    [
        (0.0, None, "did no work"),
        (None, None, "did no work"),
        (float("nan"), None, "did no work"),
        (5.0, "Cannot allocate memory", "failed: Cannot allocate memory"),
    ],
)
def test_an_idle_load_gives_no_verdict(during: Any, error: Any, says: str) -> None:
    report = LoadReport("memory", 2, "bytes", None, during, error=error)
    reasons = _reasons(planned_loads=[MEMORY], loads=[report])
    assert len(reasons) == 1
    assert "memory:2" in reasons[0]
    assert says in reasons[0]


def test_a_load_that_worked_is_trusted_and_one_that_did_not_report_is_not() -> None:
    report = LoadReport("memory", 2, "bytes", None, 5.0)
    assert _reasons(planned_loads=[MEMORY], loads=[report]) == []
    assert "did not report" in _reasons(planned_loads=[MEMORY])[0]


@pytest.mark.parametrize(("state", "trusted"), [("cut", 0), ("recovered", 0), ("interrupted", 0)])
def test_a_run_that_ended_by_failure_gives_no_verdict(state: Any, trusted: Any) -> None:
    assert (_reasons(state=state) == []) == bool(trusted)


def test_a_fatal_problem_gives_no_verdict_and_another_does_not() -> None:
    fatal, mild = Problem("x", "The tracer was gone.", True), Problem("y", "Hm.", False)
    assert _reasons(problems=[fatal, mild]) == ["The tracer was gone."]


@pytest.mark.parametrize("samples", [[], [cpu(0, np.empty(0, dtype=np.int64))]])
def test_no_sample_gives_no_verdict(samples: Any) -> None:
    assert "No activation was recorded" in _reasons(samples)[0]


def test_a_planned_cpu_without_samples_gives_no_verdict() -> None:
    found = assess(manifest(GOOD), GOOD[:1])
    assert found.trust.reasons == ["No samples of CPU 1, which was to be measured."]


def test_late_stays_late_when_samples_are_lost_but_not_without_real_time_priority() -> None:
    samples = [cpu(0, latencies(100))]
    lost = manifest(samples, accounts=[account(samples[0], expected=101, dropped=1)])
    ordinary = manifest(samples, accounts=[account(samples[0], policy="other")])
    assert assess(lost, samples).late_is_late
    assert not assess(ordinary, samples).late_is_late
