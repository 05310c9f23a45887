"""What is printed of interrupts and preemption disabled."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from benchmark_journals import benchmark_journal
from msgspec.structs import replace
from off_journals import off_messages, off_plan, traced_messages
from rich.console import Console

from whylate.recording.reader import open_recording
from whylate.recording.workloads.off import What
from whylate.report.off import mark_columns, mark_rows
from whylate.report.page.benchmark import render_benchmark
from whylate.report.terminal.benchmark import print_benchmark
from whylate.summary.as_json import benchmark_json
from whylate.summary.benchmarks.model import BenchmarkSummary
from whylate.summary.off import join_reports
from whylate.summary.workloads import summarize_benchmark
from whylate.wire.messages import OffLongest


def summary_of(directory: Path, what: What = "irqs-off") -> BenchmarkSummary:
    recording = open_recording(benchmark_journal(directory / what, off_plan(what), *off_messages()))
    return summarize_benchmark(recording.manifest, recording.repetitions, "r")


def printed(summary: BenchmarkSummary) -> str:
    out = io.StringIO()
    print_benchmark(summary, Console(file=out, width=100))
    return out.getvalue()


def test_time_is_points_times_the_period(tmp_path: Path) -> None:
    off = summary_of(tmp_path).off
    assert off is not None
    # 12 of 80 points.
    assert off.per_second_ns == pytest.approx(0.15e9)
    assert off.low_ns < off.per_second_ns < off.high_ns
    assert [line.total_ns for line in off.lines] == [450_000, 50_000]
    assert off.lines[0].callers[0] == "fault_main [irqs_off]"
    assert sum(line.share for line in off.lines) == pytest.approx(1)
    assert off.not_known == {"points_user": 1, "points_unknown": 4}


def test_turns_are_joined_by_callers(tmp_path: Path) -> None:
    recording = open_recording(benchmark_journal(tmp_path / "r", off_plan(), *off_messages()))
    (report,) = [turn.off for turn in recording.manifest.turns]
    assert report is not None
    # The same groups in another order.
    other = replace(
        report,
        groups=[replace(report.groups[2 - i], group=i) for i in range(3)],
        longest=[replace(stretch, seen_ns=1 + stretch.seen_ns) for stretch in report.longest],
    )
    joined = join_reports([report, other])
    assert [group.points for group in joined.groups] == [8, 18, 2]
    assert [stretch.seen_ns for stretch in joined.longest] == [260_001, 260_000, 120_001, 120_000]
    assert {stretch.group for stretch in joined.longest} == {1}
    assert sum(bin_.count for bin_ in joined.bins) == 4


@pytest.mark.parametrize(("what", "periods"), [("irqs-off", 1), ("preempt-off", 2)])
def test_a_mark_has_bounds(tmp_path: Path, what: What, periods: int) -> None:
    off = summary_of(tmp_path, what).off
    assert off is not None
    assert [(mark.low_ns, mark.high_ns) for mark in off.longest] == [
        (260_000, 260_000 + periods * 50_000),
        (120_000, 120_000 + periods * 50_000),
    ]


def test_the_period_stands_beside_the_figures_and_what_sampling_takes(tmp_path: Path) -> None:
    text = printed(summary_of(tmp_path))
    first = text[text.index("Interrupts disabled for 150 ms") :].split("\n\n")[0]
    assert "sampled every 50 µs" in first
    assert "sampling takes 4.8 % of a CPU, 2.381 µs a sample" in " ".join(first.split())
    assert "fault_main [irqs_off] ← kthread" in text
    assert "260 µs to 310 µs" in text
    assert "no percentile is given" in " ".join(text.split())
    assert "2 samples were lost" in text


def test_late_samples_without_evidence_are_counted_apart(tmp_path: Path) -> None:
    text = " ".join(printed(summary_of(tmp_path)).split())
    assert "late for another reason, counted nowhere: 1 in programs, 4 in the kernel" in text


def test_why_it_is_sampled_stands_below(tmp_path: Path) -> None:
    text = " ".join(printed(summary_of(tmp_path)).split())
    assert "Sampled, for this kernel has no tracepoint irq_disable." in text


def traced_summary(directory: Path) -> BenchmarkSummary:
    recording = open_recording(benchmark_journal(directory / "t", off_plan(), *traced_messages()))
    return summarize_benchmark(recording.manifest, recording.repetitions, "r")


def test_what_tracepoints_saw_is_exact(tmp_path: Path) -> None:
    off = traced_summary(tmp_path).off
    assert off is not None
    # 378 us of 2 CPUs for 2 ms.
    assert off.per_second_ns == pytest.approx(1e9 * 378 / 4000)
    assert off.stretches == 1001
    assert [(mark.low_ns, mark.high_ns) for mark in off.longest] == [(260_000, 260_000)]
    assert [line.total_ns for line in off.lines] == [260_000, 118_000]
    assert off.lines[1].began == ["_raw_spin_lock_irqsave", "take_it"]
    # 10 us for 200 stretches, and 1001 of them in 4 ms.
    assert off.stretch_ns == pytest.approx(50)
    assert off.share_of_cpu == pytest.approx(1001 * 50 / 4e6)


def test_quantiles_are_of_all_stretches_and_need_some_beyond(tmp_path: Path) -> None:
    off = traced_summary(tmp_path).off
    assert off is not None
    assert [(each.quantile, each.low_ns, each.high_ns) for each in off.quantiles] == [
        (0.5, 16, 17), (0.9, 1024, 1088), (0.99, 1024, 1088),
    ]  # fmt: skip


def test_both_ends_and_what_the_hooks_take_are_printed(tmp_path: Path) -> None:
    text = printed(traced_summary(tmp_path))
    words = " ".join(text.split())
    assert "by the kernel's tracepoints: 1,001 stretches, all of them" in words
    assert "the hooks take 1.3 % of a CPU, 50 ns a stretch" in words
    assert "began in" in text
    assert "_raw_spin_lock_irqsave ← take_it" in text
    assert "p50 16 ns, p90 1.056 µs" in words
    assert "3 longer stretches have no row" in words
    assert "sampl" not in words


COUNTERS = ("cycles", "instructions", "icache-stall")


def counted_summary(directory: Path, counts: tuple[int, ...]) -> BenchmarkSummary:
    messages = [
        replace(message, counted_ns=130_000, counts=counts)
        if isinstance(message, OffLongest) and message.comm == "other"
        else message
        for message in off_messages()
    ]
    journal = benchmark_journal(directory / "c", off_plan(counters=COUNTERS), *messages)
    recording = open_recording(journal)
    return summarize_benchmark(recording.manifest, recording.repetitions, "r")


def test_the_longest_have_cycles_an_instruction_and_the_share_of_stalls(tmp_path: Path) -> None:
    summary = counted_summary(tmp_path, (260_000, 65_000, 130_000))
    assert summary.off is not None
    assert [mark.counts for mark in summary.off.longest] == [
        {},
        dict(zip(COUNTERS, (260_000, 65_000, 130_000), strict=True)),
    ]
    none, line = (
        dict(zip(mark_columns(summary.off), row, strict=True))
        for row in mark_rows(summary.off, 2, 1)
    )
    assert line["counted"] == "130 µs"
    assert (line["cycles"], line["CPI"], line["icache-stall/cycle"]) == (
        "260,000",
        "4.00",
        "50.0 %",
    )
    assert none["CPI"] == "–"
    assert "1 record" not in printed(summary)


def test_counts_of_other_counters_are_refused(tmp_path: Path) -> None:
    off = counted_summary(tmp_path, (1, 2)).off
    assert off is not None
    assert all(not mark.counts for mark in off.longest)


def test_json_and_page_have_all_of_it(tmp_path: Path) -> None:
    summary = summary_of(tmp_path)
    document = json.loads(json.dumps(benchmark_json(summary)))
    assert document["off"]["longest"][0]["comm"] == "irqs_off"
    assert document["off"]["lasting"] == 2
    (point,) = document["points"]
    assert point["disabled_ms_per_s"]["value"] == pytest.approx(150)
    manifest = open_recording(tmp_path / "irqs-off").manifest
    page = render_benchmark(summary, manifest)
    assert "High-water marks" in page
    assert "260 µs to 310 µs" in page
    assert "irqs_off/9" in page
