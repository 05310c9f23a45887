"""What the recorder adds to latencies: found where it adds, refused where it was not detached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from summary_examples import MS, latencies
from summary_examples import cpu as cpu_samples
from summary_examples import manifest as plain_manifest

from whylate.quantities import format_ns
from whylate.recording.manifest import DetachedReport, Manifest, RecorderReport
from whylate.recording.samples import CpuSamples, CpuStages
from whylate.recording.workloads.activations import DetachPlan, RecorderPlan
from whylate.report.sentences import observer_lines, stage_lines
from whylate.run.detaching import draw_detached
from whylate.summary.as_json import to_json
from whylate.summary.model import Summary
from whylate.summary.summarize import summarize
from whylate.wire.constants import NOT_SEEN

N = 20_000
PLAN = draw_detached(N * MS, MS, 1)
SWITCH_NS = 12 * MS


def drawn() -> DetachPlan:
    assert PLAN is not None
    return PLAN


def stretches(plan: DetachPlan, **changes: Any) -> list[DetachedReport]:
    """The recorder is detached as planned, and each switch takes SWITCH_NS."""
    reports: list[DetachedReport] = []
    for number, block in enumerate(plan.blocks):
        begin_ns, to_ns = block * plan.block_ns, (block + 1) * plan.block_ns
        events = 1000 * (number + 1)
        report = DetachedReport(
            begin_ns, begin_ns + SWITCH_NS, to_ns, to_ns + SWITCH_NS, events, events
        )
        if reports and reports[-1].to_ns == begin_ns:
            report = msgspec.structs.replace(
                report, begin_ns=reports[-1].begin_ns, from_ns=reports[-1].from_ns
            )
            reports.pop()
        reports.append(msgspec.structs.replace(report, **changes))
    return reports


def recorded(
    samples: Sequence[CpuSamples], reports: Sequence[DetachedReport], plan: DetachPlan | None = PLAN
) -> Manifest:
    manifest = plain_manifest(samples)
    assert manifest.plan.activations is not None
    workload = msgspec.structs.replace(
        manifest.plan.activations, recorder=RecorderPlan(detach=plan)
    )
    report = RecorderReport("bpf", None, 4096, [], 0, 0, 0, 0, None, None, detached=list(reports))
    return msgspec.structs.replace(
        manifest, plan=msgspec.structs.replace(manifest.plan, workload=workload), recorder=report
    )


def attached(reports: Sequence[DetachedReport]) -> NDArray[np.bool_]:
    due_ns = np.arange(N) * MS
    off = [(due_ns >= report.begin_ns) & (due_ns < report.until_ns) for report in reports]
    whole: NDArray[np.bool_] = ~np.any(off, axis=0)
    return whole


def switched(reports: Sequence[DetachedReport]) -> NDArray[np.bool_]:
    due_ns = np.arange(N) * MS
    spans = [span for r in reports for span in ((r.begin_ns, r.from_ns), (r.to_ns, r.until_ns))]
    whole: NDArray[np.bool_] = np.any([(due_ns >= a) & (due_ns < b) for a, b in spans], axis=0)
    return whole


def summary_of(added_ns: int, **changes: Any) -> Summary:
    reports = stretches(drawn(), **changes)
    latency_ns = latencies(N) + added_ns * attached(reports)
    samples = [cpu_samples(0, latency_ns)]
    return summarize(samples, recorded(samples, reports), "r")


def test_what_it_adds_is_found_and_said() -> None:
    summary = summary_of(3_000)
    effect = summary.observer
    assert effect is not None
    assert effect.reason is None
    assert effect.attached + effect.detached + effect.left_out == N
    assert effect.detached == pytest.approx(N / 4, rel=0.2)
    assert [figure.name for figure in effect.added] == ["p50", "p99"]
    for figure in effect.added:
        assert figure.low_ns <= 3_000 <= figure.high_ns
    assert effect.added[0].ratio_low > 1.1
    warnings = [warning.text for warning in summary.warnings if warning.code == "observer"]
    assert len(warnings) == 1
    assert "The recorder itself adds" in warnings[0]
    assert "to p50: at least" in warnings[0]
    (line,) = observer_lines(summary)
    assert line.startswith("the recorder adds ")
    assert "500 ms of every 2 s" in line
    document = to_json(summary)["observer"]
    assert document["added"][0]["low_ns"] == effect.added[0].low_ns


def test_nothing_added_is_no_warning() -> None:
    summary = summary_of(0)
    effect = summary.observer
    assert effect is not None
    for figure in effect.added:
        assert figure.low_ns <= 0 <= figure.high_ns
    assert not [warning for warning in summary.warnings if warning.code == "observer"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"before": None, "after": None}, "it was not seen to be detached"),
        ({"before": 0}, "events were recorded while it was detached"),
        ({"before": 7, "after": 7}, "nothing was recorded while it was attached"),
        ({"error": 1}, "it was not attached again in full"),
    ],
)
def test_where_it_was_not_applied_there_is_no_figure(changes: Any, reason: str) -> None:
    summary = summary_of(3_000, **changes)
    effect = summary.observer
    assert effect is not None
    assert effect.added == []
    assert reason in (effect.reason or "")
    assert reason in observer_lines(summary)[0]


def test_where_switching_took_most_of_the_time_there_is_no_figure() -> None:
    reports = [
        msgspec.structs.replace(report, from_ns=report.from_ns + 250 * MS)
        for report in stretches(drawn())
    ]
    samples = [cpu_samples(0, latencies(N))]
    effect = summarize(samples, recorded(samples, reports), "r").observer
    assert effect is not None
    assert "took so long" in (effect.reason or "")


def test_a_recorder_that_stays_attached_has_no_effect_to_show() -> None:
    samples = [cpu_samples(0, latencies(N))]
    summary = summarize(samples, recorded(samples, [], None), "r")
    assert summary.observer is None
    assert observer_lines(summary) == []


def test_stages_are_those_of_the_time_in_which_it_was_attached() -> None:
    reports = stretches(drawn())
    on = attached(reports)
    stage_ns = np.where(on, 4_000, NOT_SEEN).astype(np.int32)
    samples = [replace(cpu_samples(0, latencies(N)), stages=CpuStages(stage_ns, stage_ns))]
    summary = summarize(samples, recorded(samples, reports), "r")
    stage = summary.together.stages["thread"]
    assert (stage.seen, stage.not_seen) == (on.sum(), 0)
    assert stage.latency_ns["p99"].value == 4_000
    assert not stage.latency_ns["p99"].at_least
    assert any(f"of the {on.sum():,} activations that were due" in s for s in stage_lines(summary))
    # All of them count where it is not said that the recorder was detached.
    attached_always = summarize(samples, recorded(samples, [], None), "r")
    assert attached_always.together.stages["thread"].not_seen == N - on.sum()
    assert not any("attached" in line for line in stage_lines(attached_always))


def test_a_maximum_that_came_while_it_was_switched_is_not_the_boards_alone() -> None:
    reports = stretches(drawn())
    latency_ns = latencies(N)
    switching = (reports[3].begin_ns + 2 * MS) // MS
    latency_ns[switching] = 900_000
    samples = [cpu_samples(0, latency_ns)]
    summary = summarize(samples, recorded(samples, reports), "r")
    (warning,) = [warning for warning in summary.warnings if warning.code == "switching"]
    assert summary.together.latency_ns["max"].value == 900_000
    at_another_time = int(latency_ns[~switched(reports)].max())
    assert f"the largest at another time is {format_ns(at_another_time)}" in warning.text
    latency_ns[switching], latency_ns[switching + 100] = 5_000, 900_000
    samples = [cpu_samples(0, latency_ns)]
    codes = [w.code for w in summarize(samples, recorded(samples, reports), "r").warnings]
    assert "switching" not in codes


def test_a_tail_that_switching_makes_is_said_to_be_its_own() -> None:
    reports = stretches(drawn())
    latency_ns = latencies(N)
    for report in reports:
        for at_ns in (report.begin_ns, report.to_ns):
            latency_ns[at_ns // MS + 1 : at_ns // MS + 11] += 100_000
    samples = [cpu_samples(0, latency_ns)]
    summary = summarize(samples, recorded(samples, reports), "r")
    (warning,) = [warning for warning in summary.warnings if warning.code == "switching"]
    assert "of what is later than p99 came while the recorder was being detached" in warning.text
    # It counts in the figure; the warning has that of the rest.
    figure = summary.together.latency_ns["p99"].value
    assert figure == np.quantile(latency_ns, 0.99, method="inverted_cdf")
    others = latency_ns[~switched(reports)]
    value = int(np.quantile(others, 0.99, method="inverted_cdf"))
    assert figure is not None
    assert figure > value + 20_000
    assert f"p99 is {format_ns(value)} without the {N - others.size} activations" in warning.text


def test_one_block_of_each_group_is_drawn_and_the_draw_repeats() -> None:
    plan = drawn()
    assert [block // plan.every for block in plan.blocks] == list(range(len(plan.blocks)))
    assert plan == draw_detached(N * MS, MS, 1)
    assert plan != draw_detached(N * MS, MS, 2)
    assert draw_detached(9_000 * MS, MS, 1) is None
    assert draw_detached(N * MS, 100 * MS, 1) is None
    long = draw_detached(36_000_000 * MS, MS, 1)
    assert long is not None
    assert len(long.blocks) == 40
    within = [block % 4 for seed in range(100) for block in draw_blocks(seed)]
    assert np.bincount(within).min() > 0.2 * len(within)


def draw_blocks(seed: int) -> list[int]:
    plan = draw_detached(N * MS, MS, seed)
    assert plan is not None
    return plan.blocks
