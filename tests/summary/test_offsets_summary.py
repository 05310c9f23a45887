"""Clocks of CPUs beside each other: from exchanges to figures and what they show."""

from __future__ import annotations

import pytest
from test_benchmark_summary import Row, summary_of

from whylate.recording.workloads.offsets import OffsetPoint
from whylate.summary.benchmarks.model import BenchmarkSummary

START = 10**15
STEP_NS = 20_000_000


def row(number: int, ahead_ns: int) -> Row:
    """Return an exchange of 100 ns whose error is up to 10 ns."""
    begin = START + number * STEP_NS
    wobble = (number * 7) % 21 - 10
    return {"turn": number // 2, "repetition": number % 2, "exchanges": 5000, "begin_ns": begin,
            "peer_ns": begin + 50 + wobble + ahead_ns, "end_ns": begin + 100}  # fmt: skip


def summary(rows: list[Row], **point: int) -> BenchmarkSummary:
    return summary_of([OffsetPoint("monotonic-raw", (0, 1), **point)], rows, rounds=10)


def test_a_shift_of_a_microsecond_and_a_drift_are_findings_with_intervals() -> None:
    ahead = [1000 + number * STEP_NS // 100_000 for number in range(20)]
    found = summary([row(number, ahead[number]) for number in range(20)])
    figures = found.points[0].figures
    offset, rate = figures["offset_ns"], figures["rate_ppm"]
    assert offset.value == pytest.approx(1000 + 9.5 * STEP_NS / 100_000, abs=10)
    assert offset.low is not None
    assert offset.high is not None
    assert offset.low > 1000
    assert offset.high - offset.low <= 100
    assert rate.value == pytest.approx(10, abs=0.05)
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low <= 10 <= rate.high
    assert {finding.code for finding in found.findings} == {"offset", "rate"}
    assert found.points[0].name == "CPU 1 against CPU 0"


def test_clocks_that_agree_are_no_finding() -> None:
    found = summary([row(number, 0) for number in range(20)])
    assert not found.findings
    assert not [caution for caution in found.warnings if caution.code in ("added", "unsteady")]


def test_a_clock_that_was_set_has_a_warning() -> None:
    found = summary([row(number, 3000 * (number > 9)) for number in range(20)])
    assert "unsteady" in [caution.code for caution in found.warnings]
    assert found.points[0].facts["constant_rate"] is False


def test_readings_that_were_changed_are_marked() -> None:
    found = summary([row(number, 1000) for number in range(20)], shift_ns=1000)
    assert "added" in [caution.code for caution in found.warnings]
    assert found.points[0].facts["added_ns"] == 1000
