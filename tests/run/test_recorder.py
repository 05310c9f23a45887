"""The flight recorder in real runs on this machine, by either engine."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import starts
from whylate.boards.local import LocalBoard
from whylate.causes.answer import explain_recording
from whylate.causes.window.piece import Cause
from whylate.causes.window.pieces import cut_window
from whylate.recording.events import Kind
from whylate.recording.plan import RunPlan, Setting
from whylate.recording.reader import open_recording
from whylate.recording.recorder.windows import read_windows
from whylate.recording.workloads.activations import DetachPlan, Engine, RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.measure import measure
from whylate.run.progress import Quiet

pytestmark = [
    pytest.mark.machine,
    pytest.mark.realtime,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace"),
]


def request(engine: Engine, threshold_ns: int | None = None) -> RunPlan:
    return RunPlan(
        workload=Wakeup(
            duration_ns=3_000_000_000,
            interval_ns=1_000_000,
            recorder=RecorderPlan(engine, threshold_ns),
        )
    )


@pytest.fixture(scope="module", params=["bpf", "tracefs"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("recorded") / "r"
    plan = RecorderPlan(request.param)
    run = RunPlan(workload=Wakeup(duration_ns=4_000_000_000, interval_ns=1_000_000, recorder=plan))
    manifest = measure(LocalBoard(), run, directory, Quiet())
    report = manifest.recorder
    assert report is not None
    if report.engine is None:
        pytest.skip(f"no {request.param} here: {report.refused}")
    assert report.engine == request.param
    assert report.events > 1000
    assert any(source.error == 0 for source in report.sources)
    return directory


def test_stages_of_all_activations_come_in_their_order(recorded: Path) -> None:
    table = pq.read_table(recorded / "samples.parquet")
    columns = [table[name].to_numpy() for name in ("timer_ns", "waking_ns", "switched_ns")]
    seen = ~np.isnan(np.stack(columns)).any(axis=0)
    # One CPU may hide the switches of its idle thread from all tracers.
    assert seen.mean() > 0.3
    timer, waking, switched = (column[seen] for column in columns)
    latency = table["latency_ns"].to_numpy()[seen]
    assert (timer <= waking).all()
    assert (waking <= switched).all()
    assert (switched <= latency).mean() > 0.999


def test_windows_are_whole_and_their_pieces_sum_to_the_latency(recorded: Path) -> None:
    windows = list(read_windows(recorded))
    assert len(windows) > 5
    for window in windows:
        pieces = cut_window(window)
        assert sum(piece.length_ns for piece in pieces) == window.latency_ns
        # A chunk of the ring of its own CPU goes on behind it.
        own = [event for event in window.events if event.cpu == window.cpu]
        assert all(event.time_ns <= window.run_ns for event in own[:-64])
    whole = [w for w in windows if w.observed_ns <= w.due_ns and w.switched_ns is not None]
    assert len(whole) > len(windows) * 0.3
    switches = [
        event
        for window in whole
        for event in window.events
        if event.kind is Kind.SWITCH and event.id == window.pid
    ]
    assert len(switches) >= len(whole)
    named = {piece.cause for window in whole for piece in cut_window(window)}
    assert Cause.INTERRUPT in named
    assert Cause.RETURN in named


def test_the_answer_sums_to_one(recorded: Path) -> None:
    result = explain_recording(open_recording(recorded))
    assert result.population is not None
    assert sum(item.share for item in result.population.causes) == pytest.approx(1)
    assert result.worst


def test_a_threshold_copies_only_what_is_above_it(tmp_path: Path) -> None:
    manifest = measure(LocalBoard(), request("best", 10_000_000_000), tmp_path / "r", Quiet())
    assert manifest.recorder is not None
    if manifest.recorder.engine is None:
        pytest.skip("nothing can be traced here")
    assert all(window.reason == "control" for window in read_windows(tmp_path / "r"))


@pytest.mark.parametrize("engine", ["bpf", "tracefs"])
def test_the_first_that_is_too_late_ends_the_run_and_shows_all_cpus(
    tmp_path: Path, engine: Engine
) -> None:
    plan = RecorderPlan(engine, stop_above_ns=1_000)
    run = RunPlan(workload=Wakeup(duration_ns=20_000_000_000, interval_ns=1_000_000, recorder=plan))
    manifest = measure(LocalBoard(), run, tmp_path / "r", Quiet())
    report = manifest.recorder
    assert report is not None
    if report.engine is None:
        pytest.skip(f"no {engine} here: {report.refused}")
    assert manifest.state == "complete"
    assert [problem.code for problem in manifest.problems] == ["stopped"]
    # It was over soon after it had begun.
    assert all(cpu.end_ns - cpu.start_ns < 10_000_000_000 for cpu in manifest.cpus)
    (window,) = [item for item in read_windows(tmp_path / "r") if item.reason == "stop"]
    assert f"activation {window.activation} on CPU {window.cpu} was" in manifest.problems[0].text
    assert window.latency_ns > 1_000
    assert window.observed_ns == window.due_ns
    assert {event.cpu for event in window.events} == {cpu.cpu for cpu in manifest.cpus}
    # All that happened while it waited is there, of whichever CPU.
    for cpu in {event.cpu for event in window.events}:
        times = [event.time_ns for event in window.events if event.cpu == cpu]
        assert min(times) <= window.run_ns
    assert sum(piece.length_ns for piece in cut_window(window)) == window.latency_ns


def test_it_ends_the_run_where_nothing_can_be_recorded_too(tmp_path: Path) -> None:
    """As root without the rights to trace, in a process of its own."""
    command = ["setpriv", "--bounding-set", "-sys_admin,-bpf,-perfmon", "--inh-caps",
               "-sys_admin,-bpf,-perfmon", sys.executable, "-m", "whylate", "measure", "local",
               "--for", "20s", "--stop-above", "1us", "--recorder", "bpf",
               "-o", str(tmp_path / "r")]  # fmt: skip
    began = time.monotonic()
    starts.run(command, check=False, capture_output=True, timeout=60)
    assert time.monotonic() - began < 15
    manifest = open_recording(tmp_path / "r").manifest
    assert manifest.recorder is not None
    assert manifest.recorder.engine is None
    assert "stopped" in [problem.code for problem in manifest.problems]


def test_without_it_nothing_is_recorded_and_explain_says_so(tmp_path: Path) -> None:
    run = RunPlan(workload=Wakeup(duration_ns=500_000_000, interval_ns=1_000_000))
    manifest = measure(LocalBoard(), run, tmp_path / "r", Quiet())
    assert manifest.recorder is None
    result = explain_recording(open_recording(tmp_path / "r"))
    assert result.why_not is not None
    assert "--no-recorder" in result.why_not


STATISTICS = "/proc/sys/kernel/bpf_stats_enabled"
EXPEDITED = Path("/sys/kernel/rcu_expedited")


def test_every_manifest_has_what_an_event_costs_and_what_gathering_took(recorded: Path) -> None:
    manifest = open_recording(recorded).manifest
    report = manifest.recorder
    assert report is not None
    assert report.gather_ns
    assert manifest.probe.cpu_time_ns is not None
    # The CPU time of a process counts in ticks on some kernels.
    assert report.gather_ns < manifest.probe.cpu_time_ns + 100_000_000
    # Nothing is measured while the run goes on, for that would cost more.
    assert report.run_ns is None
    assert report.runs == report.events
    # Two threads that wake each other may take longer without tracing, on a busy machine.
    if report.sampled_runs is None:
        assert report.engine == "tracefs"
        return
    assert report.sampled_ns is not None
    assert report.sampled_runs > 500
    assert 10 < report.sampled_ns / report.sampled_runs < 20_000


@pytest.mark.skipif(not Path(STATISTICS).exists(), reason="this kernel measures no programs")
def test_where_all_programs_are_measured_the_cost_is_that_of_the_whole_run(tmp_path: Path) -> None:
    settings = [Setting(STATISTICS, "1")]
    run = RunPlan(
        workload=Wakeup(
            duration_ns=2_000_000_000, interval_ns=1_000_000, recorder=RecorderPlan("bpf")
        ),
        settings=settings,
    )
    report = measure(LocalBoard(), run, tmp_path / "r", Quiet()).recorder
    assert report is not None
    if report.engine is None:
        pytest.skip(f"no BPF here: {report.refused}")
    assert report.runs is not None
    assert report.run_ns is not None
    # A program may record more than one event: a stack is several.
    assert report.runs > report.events / 2
    assert 10 < report.run_ns / report.runs < 20_000


@pytest.mark.parametrize("engine", ["bpf", "tracefs"])
def test_nothing_is_recorded_while_it_is_detached(tmp_path: Path, engine: Engine) -> None:
    detach = DetachPlan(block_ns=500_000_000, every=4, blocks=[1, 4, 5, 6, 10])
    expedited = EXPEDITED.read_text()
    plan = RunPlan(
        workload=Wakeup(
            duration_ns=6_000_000_000,
            interval_ns=1_000_000,
            recorder=RecorderPlan(engine, control_every=5, detach=detach),
        )
    )
    manifest = measure(LocalBoard(), plan, tmp_path / "r", Quiet())
    report = manifest.recorder
    assert report is not None
    if report.engine is None:
        pytest.skip(f"no {engine} here: {report.refused}")
    # Adjacent blocks are one stretch.
    assert len(report.detached) == 3
    start_ns = manifest.cpus[0].start_ns
    before = 0
    # Where the kernel takes longer to detach it than the stretch is long, it never was detached.
    detached = [s for s in report.detached if s.before is not None]
    assert detached
    for stretch, block in zip(report.detached, (1, 4, 10), strict=True):
        assert stretch.error == 0
        assert stretch.begin_ns >= start_ns + block * detach.block_ns
        if stretch.before is None:
            continue
        assert stretch.after is not None
        # Attached it recorded; detached it did not.
        assert stretch.before > before
        assert stretch.after == stretch.before
        before = stretch.after
    assert report.events > before
    windows = list(read_windows(tmp_path / "r"))
    assert len(windows) > 50
    assert not any(report.hides(window.due_ns, window.run_ns) for window in windows)
    table = pq.read_table(tmp_path / "r" / "samples.parquet")
    due_ns = start_ns + table["activation"].to_numpy() * 1_000_000
    seen = ~np.isnan(table["switched_ns"].to_numpy())
    off = [(due_ns > s.begin_ns) & (due_ns < s.from_ns + 1) for s in detached]
    assert not seen[np.any(off, axis=0)].any()
    # Each activation was measured all the same.
    assert sum(cpu.seen + cpu.overrun for cpu in manifest.cpus) == table.num_rows
    last = report.detached[-1]
    assert any(window.due_ns > last.until_ns for window in windows)
    assert EXPEDITED.read_text() == expedited
