"""All benchmarks on virtual boards of three kinds, one after the other."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from benchmark_plans import benchmark
from own_boards import own_boards
from study_watchers import StudyLog
from whylate.boards.board import notify_nobody
from whylate.boards.open import open_board
from whylate.boards.options import BoardOptions
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.boards.ready import ready
from whylate.cli import whylate
from whylate.lab.description import virtual_board
from whylate.recording.plan import RunPlan, Setting
from whylate.recording.reader import open_recording
from whylate.recording.workloads.benchmarks import BenchmarkPoint, CounterPlan
from whylate.recording.workloads.clock import ClockPoint
from whylate.recording.workloads.command import CommandPoint
from whylate.recording.workloads.memory import MemoryPoint
from whylate.recording.workloads.switch import SwitchPoint
from whylate.run.measure import measure
from whylate.run.progress import Quiet
from whylate.study.carry_out import run_study
from whylate.study.journal import StudyJournal
from whylate.study.model import Stop
from whylate.study.plan_file import read_plan_file, resolve_plan
from whylate.summary.benchmarks.model import BenchmarkSummary, PointFigures
from whylate.summary.workloads import summarize_benchmark

pytestmark = pytest.mark.qemu

SIZE = 256 << 10
BLOCK_NS = 4_000_000
#: As docs/how-to/bench.md has it, but for the tsc, for which each run would boot anew.
CLOCK_STUDY = """
boards = ["pc"]
runs = 6
warm_up = "none"
[clock]
clocks = ["monotonic"]
rounds = 1
repetitions = 1
[variants.hpet]
clocksource = "hpet"
[variants.acpi_pm]
clocksource = "acpi_pm"
"""
CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def measured(
    board: QemuBoard,
    place: Path,
    *points: BenchmarkPoint,
    counters: tuple[str, ...] = (),
    source: str | None = None,
) -> BenchmarkSummary:
    blocks = {} if isinstance(points[0], CommandPoint) else {"repetitions": 2, "block_ns": BLOCK_NS}
    workload = benchmark(
        points, rounds=2, counters=[CounterPlan(name) for name in counters], **blocks
    )
    settings = [] if source is None else [Setting(CLOCK_SOURCE, source)]
    request = RunPlan(workload=workload, settings=settings)
    measure(board, request, place, Quiet())
    recording = open_recording(place)
    assert recording.repetitions is not None
    return summarize_benchmark(recording.manifest, recording.repetitions, "r")


def by_name(summary: BenchmarkSummary) -> dict[str, PointFigures]:
    assert summary.trust.verdict == "ok", summary.trust.reasons
    return {item.name: item for item in summary.points}


@pytest.mark.parametrize("name", ["virt-arm64", "raspi3b", "sabrelite"])
def test_all_workloads_run_on_a_board(name: str, tmp_path: Path) -> None:
    pmu = ("cycles",) if name == "virt-arm64" else ()
    with own_boards(name), ready(QemuBoard(virtual_board(name)), notify_nobody) as board:
        rings = by_name(
            measured(board, tmp_path / "s", SwitchPoint(1), SwitchPoint(3), counters=pmu)
        )
        buffers = by_name(
            measured(
                board,
                tmp_path / "m",
                MemoryPoint("copy", SIZE, "untouched"),
                MemoryPoint("copy", SIZE),
                MemoryPoint("latency", SIZE),
            )
        )
        clocks = by_name(
            measured(
                board,
                tmp_path / "c",
                ClockPoint("monotonic", 2),
                ClockPoint("monotonic", 1, "syscall"),
            )
        )
        command = CommandPoint(("sh", "-c", "echo took 12.5 s"), value="took ([0-9.]+)")
        (done,) = by_name(measured(board, tmp_path / "k", command)).values()
    ring = rings["3 tasks"]
    assert ring.facts["switches"] == pytest.approx(ring.facts["hops"], rel=0.2)
    # The difference of two times of an emulated board may be of either sign.
    assert math.isfinite(ring.figures["ns_per_switch"].value)
    assert ring.facts["flushes_per_switch"] is None
    assert "x86" in str(ring.facts["flushes_not_counted"])
    assert all(item.value > 0 for item in ring.counts.values())
    assert set(ring.counts) == set(pmu)
    pages = SIZE // 4096
    frames = {name: (item.facts["frames"], item.facts["pages"]) for name, item in buffers.items()}
    assert frames == {
        "copy 256 KiB, untouched source": (1, pages),
        "copy 256 KiB, random source": (pages, pages),
        "latency 256 KiB": (pages, pages),
    }
    assert buffers["copy 256 KiB, random source"].figures["gb_per_s"].value > 0
    by_library = clocks["monotonic, 2 threads, by libc"]
    assert by_library.facts["checks"]
    assert by_library.facts["backward_steps"] == 0
    assert clocks["monotonic, 1 thread, by syscall"].facts["system_call"] is True
    assert done.figures["value"].value == 12.5
    assert done.figures["wall_s"].value > 0


def test_the_hpet_of_the_pc_costs_more_than_its_tsc(tmp_path: Path) -> None:
    # The counters of emulated CPUs are not in step at the start: the kernel is told to take them.
    options = VirtualOptions(cpus=2, kernel_args=("tsc=reliable",))
    with own_boards("pc"), ready(QemuBoard(virtual_board("pc"), options), notify_nobody) as board:
        read = ClockPoint("monotonic", 1)
        tsc, hpet = (
            by_name(measured(board, tmp_path / source, read, source=source))
            for source in ("tsc", "hpet")
        )
        registers = by_name(measured(board, tmp_path / "h", ClockPoint("hpet", 1, "hpet")))
    (by_tsc,), (by_hpet,) = tsc.values(), hpet.values()
    assert by_tsc.facts["system_call"] is False
    assert by_hpet.facts["system_call"] is True
    ratio = by_hpet.figures["ns_per_call"].value / by_tsc.figures["ns_per_call"].value
    assert ratio > 3
    (mapped,) = registers.values()
    assert mapped.figures["ns_per_call"].value > 0


def test_a_study_of_the_clock_sources_of_the_pc(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(CLOCK_STUDY)
    # Two rounds, for the time that boards take: they bear no verdict, and the figures beside it.
    plan = replace(resolve_plan(read_plan_file(tmp_path / "plan.toml")), stop=Stop("runs", [2]))
    with own_boards("pc"), StudyJournal(tmp_path / "s", plan) as journal:
        result = run_study(
            journal,
            plan,
            lambda name, words: open_board(name, BoardOptions(plan.smp, words)),
            StudyLog(),
            lambda: False,
        )
    (item,) = result.standings.values()
    comparison = item.comparison
    assert comparison is not None
    assert "the smallest p that could come out" in comparison.why
    (row,) = comparison.statistics
    # Which of two emulated devices costs more is the host's affair.
    assert row.ratio is not None
    assert "clock source is hpet in hpet and acpi_pm in acpi_pm" in comparison.cautions
    sides = [str(tmp_path / "s" / "runs" / "pc" / "idle" / name) for name in ("hpet", "acpi_pm")]
    by_hand = CliRunner().invoke(whylate, ["compare", *sides, "--json"])
    assert json.loads(by_hand.stdout)["statistics"][0]["ratio"] == row.ratio
