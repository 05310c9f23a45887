"""What a flush costs a victim: from blocks of its work, and what was counted, to figures."""

from __future__ import annotations

import pytest
from test_benchmark_summary import Row, summary_of

from whylate.recording.turns import TurnReport, VictimFlushes
from whylate.recording.workloads.flush import FlushPoint
from whylate.summary.benchmarks.model import BenchmarkSummary

#: ns of a unit of the victim's work beside nothing, and of a block.
UNIT_NS, BLOCK_NS, CALLS = 2000, 50_000_000, 1000


def block(lost_ns: float) -> int:
    """Return the units of work in a block in which so much time is lost."""
    return round((BLOCK_NS - lost_ns) / UNIT_NS)


def row(turn: int, price_ns: float, elsewhere_ns: float = 0, flushes: int = CALLS) -> Row:
    """Return a repetition whose calls cost the victim so much; elsewhere_ns: both kinds."""
    return {
        "turn": turn,
        "shared_ns": BLOCK_NS,
        "shared_units": block(CALLS * (price_ns + elsewhere_ns)),
        "shared_calls": CALLS,
        "shared_flushes": flushes,
        "other_ns": BLOCK_NS,
        "other_units": block(CALLS * elsewhere_ns),
        "other_calls": CALLS,
        "other_flushes": 0,
        "idle_ns": BLOCK_NS,
        "idle_units": block(0),
    }


def summary(rows: list[Row], error: int = 0) -> BenchmarkSummary:
    reports = [TurnReport(turn, counting_error=error) for turn in range(len(rows))]
    return summary_of([FlushPoint("munmap", cpus=(0, 1))], rows, reports=reports)


def test_the_price_is_what_the_same_calls_elsewhere_do_not_cost() -> None:
    rows = [row(turn, 1500 + 10 * turn, elsewhere_ns=300) for turn in range(6)]
    point = summary(rows).points[0]
    price = point.figures["ns_per_flush"]
    assert price.value == pytest.approx(1525, rel=0.02)
    assert price.low == pytest.approx(1500, rel=0.02)
    assert price.high == pytest.approx(1550, rel=0.02)
    assert point.figures["other_ns_per_call"].value == pytest.approx(300, abs=3)
    assert point.facts["flushes_per_call"] == 1
    assert point.refused is None
    assert [finding.code for finding in summary(rows).findings] == ["flush-price"]


def test_calls_that_cost_nothing_are_no_finding() -> None:
    rows = [row(turn, (-1) ** turn * 20) for turn in range(6)]
    assert not summary(rows).findings


def test_a_price_without_flushes_is_refused() -> None:
    assert "only 0.010 flushes a call" in str(
        summary([row(turn, 1500, flushes=10) for turn in range(6)]).points[0].refused
    )
    others = [{**row(turn, 1500), "other_flushes": CALLS} for turn in range(6)]
    assert "other programs flush" in str(summary(others).points[0].refused)


def test_a_kernel_that_counts_no_flushes_has_a_price_and_a_reason() -> None:
    found = summary([row(turn, 1500, flushes=0) for turn in range(6)], error=2)
    point = found.points[0]
    assert point.figures["ns_per_flush"].value == pytest.approx(1500, rel=0.02)
    assert point.facts["flushes_per_call"] is None
    assert any("only x86" in note for note in found.notes)


def test_where_flushes_are_carried_to_all_cpus_calls_elsewhere_are_a_finding() -> None:
    rows = [row(turn, (-1) ** turn * 10, elsewhere_ns=800 + turn, flushes=0) for turn in range(6)]
    assert [finding.code for finding in summary(rows, error=2).findings] == ["elsewhere-price"]
    counted = [row(turn, 1500, elsewhere_ns=800) for turn in range(6)]
    assert [finding.code for finding in summary(counted).findings] == ["flush-price"]


def test_a_block_without_a_call_is_refused() -> None:
    rows = [{**row(turn, 1500), "shared_calls": 0} for turn in range(6)]
    assert "no call" in str(summary(rows).points[0].refused)


def switches(rows: list[Row], error: int = 0) -> BenchmarkSummary:
    """Return the summary of switches between eight tasks, whose victim was never interrupted."""
    reports = [
        TurnReport(turn, counting_error=error, victim_flushes=VictimFlushes(0, 0))
        for turn in range(len(rows))
    ]
    point = FlushPoint("switch", pages=0, every_ns=0, tasks=8, cpus=(0, 1))
    return summary_of([point], rows, reports=reports)


def test_a_victim_that_loses_nothing_by_switches_is_said_to_pay_nothing() -> None:
    found = switches([row(turn, (-1) ** turn * 20) for turn in range(6)])
    (finding,) = found.findings
    assert finding.code == "switch-flush-local"
    assert "6,000 flushes on CPU 0" in finding.text
    assert "0 is inside" in finding.text
    assert "CPU 1 was interrupted to flush 0 times" in finding.text
    assert found.points[0].facts["flushes_per_switch"] == 1


def test_a_victim_that_loses_time_by_switches_is_said_to_pay() -> None:
    rows = [row(turn, 1500 + 10 * turn) for turn in range(6)]
    (finding,) = switches(rows).findings
    assert finding.code == "switch-flush-price"
    gains = [row(turn, -1500 - 10 * turn) for turn in range(6)]
    assert [finding.code for finding in switches(gains).findings] == ["switch-flush-gain"]


def test_switches_that_flush_nothing_have_no_figure() -> None:
    point = switches([row(turn, 1500, flushes=10) for turn in range(6)]).points[0]
    assert not point.figures
    assert "only 0.010 of the switches flushed" in str(point.refused)
    others = [{**row(turn, 1500), "other_flushes": CALLS} for turn in range(6)]
    assert "other programs take turns" in str(switches(others).points[0].refused)


def test_switches_whose_flushes_no_kernel_counts_have_no_figure() -> None:
    rows = [row(turn, 1500, flushes=0) for turn in range(6)]
    for error, reason in ((2, "only x86 has tlb:tlb_flush"), (13, "Permission denied")):
        point = switches(rows, error).points[0]
        assert not point.figures
        assert reason in str(point.refused)
