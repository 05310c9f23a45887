"""From repetitions to figures: medians over rounds, refusals, and what all readers share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from app_runs import app_manifest
from benchmark_plans import benchmark
from whylate.recording.manifest import Manifest
from whylate.recording.plan import RunPlan
from whylate.recording.repetitions import Repetitions
from whylate.recording.turns import Backing, Buffers, Flushes, Sharing, Tuning, TurnReport
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.bulk import BulkPoint
from whylate.recording.workloads.clock import Clock, ClockPoint
from whylate.recording.workloads.command import CommandPoint
from whylate.recording.workloads.memory import MemoryPoint
from whylate.recording.workloads.switch import SwitchPoint
from whylate.stats.closed_network import throughput
from whylate.summary.as_json import benchmark_json
from whylate.summary.benchmarks.model import BenchmarkSummary, main_figures
from whylate.summary.workloads import summarize_benchmark

Row = dict[str, int]


def manifest_of(
    points: Sequence[BenchmarkPoint],
    rounds: int,
    reports: Sequence[TurnReport] = (),
    host_cpus: int | None = None,
    cpus: Sequence[int] = range(8),
) -> Manifest:
    order = list(range(len(points))) * rounds
    # A command has one repetition a turn.
    repetitions = 1 if isinstance(points[0], CommandPoint) else 2
    plan = benchmark(
        points, rounds=rounds, repetitions=repetitions, block_ns=1_000_000, order=order
    )
    whole = RunPlan(workload=plan, cpus=list(cpus), host_cpus=host_cpus)
    return replace(app_manifest([]), plan=whole, cpus=[], recorder=None, turns=list(reports))


def summary_of(
    points: Sequence[BenchmarkPoint],
    rows: Sequence[Row],
    *,
    rounds: int = 6,
    reports: Sequence[TurnReport] = (),
    value: Sequence[float] | None = None,
    host_cpus: int | None = None,
    cpus: Sequence[int] = range(8),
    counts: dict[str, list[int]] | None = None,
    predict: Sequence[int] = (),
) -> BenchmarkSummary:
    """Summarise rows; each has a turn, a repetition and what its workload has."""
    manifest = manifest_of(points, rounds, reports, host_cpus, cpus)
    plan = manifest.plan.benchmark
    assert plan is not None
    names = plan.columns
    columns = {
        "turn": np.array([one["turn"] for one in rows], np.int64),
        "point": np.array([plan.order[one["turn"]] for one in rows], np.int64),
        "repetition": np.array([one.get("repetition", 0) for one in rows], np.int64),
        **{name: np.array([one.get(name, 0) for one in rows], np.int64) for name in names},
    }
    counted = {name: np.array(values, np.int64) for name, values in (counts or {}).items()}
    found = Repetitions(columns, None if value is None else np.array(value), counted)
    return summarize_benchmark(manifest, found, "r", predict)


def ring(
    turn: int, repetition: int, ring_ns: int, own_ns: int = 400_000, switches: int = 990
) -> Row:
    return {"turn": turn, "repetition": repetition, "ring_ns": ring_ns, "own_ns": own_ns,
            "hops": 1000, "switches": switches}  # fmt: skip


def test_a_switch_is_what_a_hop_takes_more_by_the_switches_counted() -> None:
    # One repetition of each round is far off: the median of a round passes over it.
    rows = [ring(t, r, 1_390_000 + 1000 * t if r else 1_390_500 + 1000 * t)
            for t in range(6) for r in range(3)]  # fmt: skip
    rows[0] = ring(0, 0, 90_000_000)
    found = summary_of([SwitchPoint(7)], rows)
    figures = found.points[0].figures
    assert figures["ns_per_hop"].value == pytest.approx(1392.5, abs=1)
    assert figures["own_ns_per_hop"].value == 400
    assert figures["ns_per_switch"].value == pytest.approx(992.5 / 0.99, rel=1e-3)
    assert figures["ns_per_hop"].low == pytest.approx(1390, abs=1)
    assert figures["ns_per_hop"].high == pytest.approx(1395, abs=1)
    assert found.points[0].facts["switches"] == 990 * 18
    assert found.trust.verdict == "ok"


def test_one_task_has_no_switch_to_divide_by_and_may_cost_less_than_nothing() -> None:
    rows = [ring(t, r, 400_000 + (-1) ** t * 300, switches=1) for t in range(6) for r in range(2)]
    figures = summary_of([SwitchPoint(1)], rows).points[0].figures
    assert "ns_per_switch" not in figures
    more = figures["more_ns_per_hop"]
    assert more.low is not None
    assert more.high is not None
    assert more.low < 0 < more.high


def test_flushes_are_by_the_switches_of_their_own_block() -> None:
    rows = [ring(t, 0, 1_390_000) for t in range(6)]
    reports = [TurnReport(t, flushes=Flushes(500, 480, 470)) for t in range(6)]
    facts = summary_of([SwitchPoint(7)], rows, reports=reports).points[0].facts
    assert facts["flushes_per_switch"] == pytest.approx(470 / 480)
    none = [TurnReport(t, flushes=Flushes(0, 0, 0, 2)) for t in range(6)]
    facts = summary_of([SwitchPoint(7)], rows, reports=none).points[0].facts
    assert facts["flushes_per_switch"] is None
    assert "x86" in str(facts["flushes_not_counted"])


def backed(turn: int, frames: int) -> TurnReport:
    source, target = Backing(1024, 1024, frames, 0, 0), Backing(1024, 1024, 1024, 0, 0)
    return TurnReport(turn, before=Buffers(source, target), after=Buffers(source, target))


def test_a_copy_from_the_zero_page_is_called_what_it_is() -> None:
    points = [MemoryPoint("copy", 4 << 20, source="untouched"), MemoryPoint("copy", 4 << 20)]
    rows = [{"turn": t, "ns": 1 << 20, "passes": 4} for t in range(12)]
    reports = [backed(t, 1 if t % 2 == 0 else 1024) for t in range(12)]
    untouched, written = summary_of(points, rows, reports=reports).points
    assert untouched.figures["gb_per_s"].value == 16
    assert untouched.note == "write bandwidth (zero page)"
    assert (untouched.facts["frames"], written.facts["frames"]) == (1, 1024)
    assert written.note == ""


def test_a_backing_that_was_not_asked_for_voids_its_point_and_the_run_alone() -> None:
    points = [MemoryPoint("copy", 4 << 20, source="untouched"), MemoryPoint("copy", 8 << 20)]
    rows = [{"turn": t, "ns": 1 << 20, "passes": 4} for t in range(12)]
    found = summary_of(points, rows, reports=[backed(t, 1024) for t in range(12)])
    assert found.points[0].refused
    assert not found.points[0].figures
    assert found.points[1].figures
    assert found.trust.verdict == "no verdict"
    assert "1024 frames" in found.trust.reasons[0]


def test_few_rounds_have_no_interval_and_say_how_many_have() -> None:
    found = summary_of([SwitchPoint(2)], [ring(0, 0, 1_000_000)], rounds=1)
    assert found.points[0].figures["ns_per_hop"].low is None
    assert found.warnings[0].code == "few-rounds"


def test_threads_of_a_clock_add_up_and_what_they_share_is_found() -> None:
    points = [ClockPoint("device", n, "device", 1000, 3000) for n in (1, 2, 4)]
    rows = []
    for turn in range(18):
        threads = points[turn % 3].threads
        each = throughput(threads, 3.0, 1.0) / threads
        rows += [
            {"turn": turn, "thread": n, "ns": 10**10, "calls": round(each * 1e7)}
            for n in range(threads)
        ]
    found = summary_of(points, rows)
    assert [one.figures["calls_per_us"].value for one in found.points] == [
        pytest.approx(throughput(n, 3.0, 1.0), rel=1e-6) for n in (1, 2, 4)
    ]
    network = found.networks[0]
    assert network.service_ns.value == pytest.approx(1000, rel=1e-3)
    assert network.think_ns.value == pytest.approx(3000, rel=1e-3)
    assert [one.threads for one in network.predicted] == [8, 16, 32, 64]
    assert network.predicted[-1].calls_per_us.value == pytest.approx(1.0, rel=1e-3)
    assert network.predicted[-1].calls_per_us.low == pytest.approx(1.0, rel=1e-3)
    assert network.misfit == pytest.approx(1, rel=1e-3)


def shared_reads(stale: int) -> BenchmarkSummary:
    """Two threads: in each round direct reads, and 1.5 times as many strict ones."""
    points = [ClockPoint("device", 2, "device", 1000, remedy=form) for form in ("direct", "strict")]
    rows = [
        {"turn": turn, "thread": n, "ns": 10**9, "checks": 5,
         "calls": (10 + turn // 2) * 10**4 * (3 if turn % 2 else 2)}
        for turn in range(12) for n in range(2)
    ]  # fmt: skip
    sharing = Sharing(1_030_000, 1_035_000, 100_000, 168, 1000, stale, 900 if stale else 0)
    reports = [TurnReport(turn, sharing=sharing) for turn in range(12)]
    return summary_of(points, rows, reports=reports)


def test_shared_reads_are_compared_with_direct_ones_round_by_round() -> None:
    found = shared_reads(stale=0)
    direct, strict = found.points
    assert "times_direct" not in direct.figures
    times = strict.figures["times_direct"]
    # Rounds differ by half, and their ratios by nothing.
    assert (times.value, times.low, times.high) == pytest.approx((1.5, 1.5, 1.5))
    assert strict.texts["stale values"] == "0 of 6,000"
    assert [one.code for one in found.findings] == ["sharing-pays"]
    assert any("from 100 ns on" in note for note in found.notes)
    # Readers who are served together are no queue.
    assert not found.networks


def test_a_stale_value_of_a_strict_read_is_a_finding() -> None:
    found = shared_reads(stale=1)
    assert found.points[1].texts["stale values"] == "6 of 6,000, by 900 ns at most"
    assert "stale-strict" in [one.code for one in found.findings]


def test_the_knee_keeps_the_cost_and_the_tuner_is_beside_it() -> None:
    points = [BulkPoint(chunk) for chunk in (1, 128, 512, 16_384, 0)]
    work = {1: 6550, 128: 1660, 512: 1595, 16_384: 1540, 0: 1640}
    delay = {1: 5, 128: 9, 512: 23, 16_384: 1300, 0: 10}
    rows = [
        {"turn": turn, "ns": 1000 * work[chunk], "passes": 1, "holds": 1, "delays": 200,
         "p50_ns": 1000 * delay[chunk], "p99_ns": 2000 * delay[chunk], "most_ns": 10**7}
        for turn in range(30) for chunk in [points[turn % 5].chunk]
    ]  # fmt: skip
    reports = [
        TurnReport(turn, tuning=Tuning(3000, 96_000, 300, 140, 140) if turn % 5 == 4
                   else Tuning(3000, 0, 0, 0, points[turn % 5].chunk)) for turn in range(30)
    ]  # fmt: skip
    found = summary_of(points, rows, reports=reports)
    codes = {one.code: one.text for one in found.findings}
    # A chunk of 1 delays least, and takes four times as long.
    assert codes["knee"].startswith("chunks of 128 have the least median delay")
    assert "chunks of 140: a median delay × 1.11" in codes["tuner"]
    assert found.points[0].figures["more_work"].value == pytest.approx(6550 / 1540 - 1)
    # A chunk that was given needed no costs.
    assert ["line_ns" in point.facts for point in found.points] == [False] * 4 + [True]
    assert any(note.startswith("Costs: a line 96 ns, ") for note in found.notes)
    # The tuner's point is drawn where its chunk is.
    assert [one.place and one.place.value for one in found.points] == [1, 128, 512, 16_384, 140]


@pytest.mark.parametrize(("fewest", "is_shown"), [(999, False), (1000, True)])
def test_a_p99_needs_ten_expected_exceedances_in_each_repetition(
    fewest: int, is_shown: bool
) -> None:
    rows = [
        {"turn": turn, "ns": 10**6, "passes": 1, "holds": 1, "p50_ns": 900, "p99_ns": 1800,
         "most_ns": 10**7, "delays": 5000 if turn else fewest}
        for turn in range(6)
    ]  # fmt: skip
    found = summary_of([BulkPoint(128)], rows)
    assert ("p99_ns" in found.points[0].figures) is is_shown
    assert any("p99 needs 1,000 delays" in note for note in found.notes) is not is_shown
    # It is compared by the median.
    assert [main.figure.key for main in main_figures(found.points)] == ["p50_ns"]


def test_why_nothing_is_predicted_is_said() -> None:
    rows = [{"turn": t, "thread": 0, "ns": 10**9, "calls": 10**7, "checks": 5} for t in range(6)]
    alone = summary_of([ClockPoint("monotonic")], rows, predict=[72])
    assert "two numbers of threads" in alone.warnings[-1].text
    assert not summary_of([ClockPoint("monotonic")], rows).warnings


def test_what_was_measured_is_not_predicted() -> None:
    points = [ClockPoint("monotonic", n) for n in (1, 2)]
    rows = [{"turn": t, "thread": n, "ns": 10**9, "calls": 10**7}
            for t in range(12) for n in range(points[t % 2].threads)]  # fmt: skip
    found = summary_of(points, rows).networks[0]
    assert found.misfit is None
    columns = {name: np.array([one.get(name, 0) for one in rows], np.int64)
               for name in ("repetition", *Clock.columns)}  # fmt: skip
    columns["turn"] = np.array([one["turn"] for one in rows], np.int64)
    columns["point"] = columns["turn"] % 2
    again = summarize_benchmark(
        manifest_of(points, 6), Repetitions(columns, None, {}), "r", [2, 72]
    )
    assert [one.threads for one in again.networks[0].predicted] == [72]


def test_a_thread_that_waited_for_a_cpu_adds_no_rate_of_its_own() -> None:
    # Two threads on one CPU: the second began when the first had done with half of the block.
    rows = []
    for turn in range(6):
        rows += [
            {"turn": turn, "thread": 0, "ns": 10**9, "calls": 5 * 10**6},
            {"turn": turn, "thread": 1, "ns": 5 * 10**8, "calls": 5 * 10**6},
        ]
    one = summary_of([ClockPoint("monotonic", 2)], rows).points[0]
    assert one.figures["calls_per_us"].value == 10


def test_threads_without_a_call_have_no_time_per_call_and_a_warning() -> None:
    def rows_with(calls: int) -> list[Row]:
        return [{"turn": t, "thread": n, "ns": 10**6, "calls": calls * (1 - n)}
                for t in range(6) for n in range(2)]  # fmt: skip

    found = summary_of([ClockPoint("monotonic", 2)], rows_with(1000))
    assert found.points[0].figures["ns_per_call"].value == 1000
    assert [one.code for one in found.warnings] == ["no-call"]
    # A round in which nobody came to one has no throughput to fit.
    some = [{**row, "calls": 0} if row["turn"] == 1 else row for row in rows_with(1000)]
    assert summary_of([ClockPoint("monotonic", 2)], some).points[0].figures["calls_per_us"].value
    points = [ClockPoint("monotonic", 1), ClockPoint("monotonic", 2)]
    assert not summary_of(points, some, rounds=3).networks
    none = summary_of([ClockPoint("monotonic", 2)], rows_with(0))
    assert "no thread made a call" in str(none.points[0].refused)
    assert none.trust.verdict == "no verdict"


@pytest.mark.parametrize(
    ("point", "row"),
    [
        (SwitchPoint(2), {"ring_ns": 5, "own_ns": 5, "hops": 0, "switches": 0}),
        (MemoryPoint("set", 4096), {"ns": 0, "passes": 5}),
        (MemoryPoint("set", 4096), {"ns": 5, "passes": 0}),
        (ClockPoint("monotonic"), {"ns": 0, "calls": 5}),
    ],
)
def test_what_no_repetition_can_have_been_is_refused(point: BenchmarkPoint, row: Row) -> None:
    found = summary_of([point], [{"turn": turn, **row} for turn in range(6)])
    assert "repetitions have no" in str(found.points[0].refused)
    assert not found.points[0].figures
    assert not found.networks


def test_counts_are_by_what_was_done_for_each_trial_settles_how_much() -> None:
    rows = [ring(t, 0, 10**6 * (t + 1)) for t in range(6)]
    for row in rows:
        row["hops"] = 1000 * (row["turn"] + 1)
    cycles = [3000 * (one["turn"] + 1) for one in rows]
    found = summary_of([SwitchPoint(2)], rows, counts={"cycles": cycles})
    assert found.points[0].counts["cycles"].value == 3


def test_a_point_that_failed_midway_has_no_figures() -> None:
    rows = [ring(t, 0, 1_390_000) for t in range(3)]
    found = summary_of([SwitchPoint(2)], rows, reports=[TurnReport(3, error="gone")])
    assert found.points[0].refused == "gone"
    assert not found.points[0].figures


def test_rounds_are_counted_of_each_point() -> None:
    rows = [ring(t, 0, 1_390_000) for t in (0, 1, 2)]
    assert [one.code for one in summary_of([SwitchPoint(2)], rows).warnings] == ["few-rounds"]


@pytest.mark.parametrize(("cpus", "host_cpus"), [((0, 1), None), (tuple(range(8)), 2), ((), None)])
def test_threads_that_share_a_cpu_are_no_part_of_the_fit(
    cpus: tuple[int, ...], host_cpus: int | None
) -> None:
    points = [ClockPoint("monotonic", n, cpus=cpus) for n in (1, 2, 8)]
    rows = []
    for turn in range(18):
        threads = points[turn % 3].threads
        # Eight threads on two CPUs read no more than two do.
        each = min(threads, 2) / threads
        rows += [{"turn": turn, "thread": n, "ns": 10**9, "calls": round(each * 1e7)}
                 for n in range(threads)]  # fmt: skip
    # Without CPUs of their own they run wherever they are put, on those that there are.
    network = summary_of(points, rows, host_cpus=host_cpus, cpus=cpus or (0, 1)).networks[0]
    assert network.threads == [1, 2]
    assert network.service_ns.value < 1
    assert network.off == pytest.approx(4, rel=0.01)


def test_backward_steps_are_summed_and_none_without_a_check() -> None:
    rows = [{"turn": t, "ns": 100, "calls": 5, "checks": 10, "backward": t % 2,
             "most_backward_ns": 7 * (t % 2)} for t in range(6)]  # fmt: skip
    facts = summary_of([ClockPoint("monotonic")], rows).points[0].facts
    assert (facts["backward_steps"], facts["checks"], facts["most_backward_ns"]) == (3, 60, 7)
    unchecked = [{**one, "checks": 0} for one in rows]
    assert summary_of([ClockPoint("monotonic")], unchecked).points[0].facts["checks"] == 0
    facts = summary_of([ClockPoint("monotonic")], unchecked).points[0].facts
    assert facts["backward_steps"] is None


def run_of(turn: int, status: int = 0, signal: int = 0) -> Row:
    return {"turn": turn, "wall_ns": 10**9, "user_ns": 10**8, "system_ns": 10**7,
            "peak_memory": 4096, "status": status, "signal": signal}  # fmt: skip


def test_a_command_is_compared_by_its_value_or_else_by_its_time() -> None:
    rows = [run_of(t) for t in range(6)]
    timed = summary_of([CommandPoint(("true",))], rows).points[0]
    main = timed.main_figure
    assert main is not None
    assert timed.name == "wall time"
    assert (main.key, main.value, main.unit) == ("wall_s", 1.0, "s")
    point = CommandPoint(("b",), value="x", unit="jobs/min", higher_is_better=True)
    valued = summary_of([point], rows, value=[5.0] * 6).points[0]
    main = valued.main_figure
    assert main is not None
    assert (main.key, main.unit, main.higher_is_better) == ("value", "jobs/min", True)
    both = main_figures([timed])
    assert [(main.name, main.figure.value) for main in both] == [
        ("wall time", 1.0),
        ("CPU time", 0.11),
    ]
    # The number that was asked for stands alone.
    assert [main.figure.key for main in main_figures([valued])] == ["value"]


@pytest.mark.parametrize(
    ("rows", "value", "why"),
    [
        ([run_of(t, status=3 * (t == 2)) for t in range(6)], [1.0] * 6, "status 3 in 1 of 6"),
        ([run_of(t, signal=9 * (t > 3)) for t in range(6)], [1.0] * 6, "signal 9 in 2 of 6"),
        ([run_of(t) for t in range(6)], [1.0] * 5 + [float("nan")], "no number"),
    ],
)
def test_a_command_that_failed_is_no_measurement(
    rows: list[Row], value: list[float], why: str
) -> None:
    found = summary_of([CommandPoint(("b",), value="x")], rows, value=value)
    assert why in str(found.points[0].refused)
    assert found.trust.verdict == "no verdict"
    assert found.points[0].main_figure is None


def test_json_has_every_unit_in_its_key_and_marks_predictions() -> None:
    points = [ClockPoint("monotonic", n) for n in (1, 2)]
    rows = [{"turn": t, "thread": n, "ns": 10**9, "calls": 10**7, "checks": 5}
            for t in range(12) for n in range(points[t % 2].threads)]  # fmt: skip
    document = benchmark_json(summary_of(points, rows))
    one = document["points"][0]
    assert one["ns_per_call"]["value"] == 100
    assert one["backward_steps"] == 0
    assert all(each["is_prediction"] for each in document["networks"][0]["predicted"])
    assert document["verdict"] == "pass"
