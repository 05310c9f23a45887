"""The windows of executions, of programs of which it is known what they wait for: see parts.c.

What the recorder saw is compared with what the section's own programs counted of the same
executions: neither knows of the other. Machines are shared and noisy: no length is asserted.
"""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from section_runs import CALLS, report_of, timed

from c_programs import FLAGS
from whylate.causes.answer import (
    Answer,
    TracedActivation,
    explain,
    explain_recording,
    read_activations,
)
from whylate.causes.window.piece import Cause, Stage
from whylate.recording.reader import Recording, open_recording
from whylate.report.causes import activation_title, headline, no_answer
from whylate.report.exports.perfetto import write_perfetto

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace"),
]

RENAME = {"x86_64": 316, "aarch64": 276}.get(platform.machine(), 0)
NAME = "wl-windows"
#: Between the programs of the recorder and of the section an interrupt may come.
NEAR_NS = 100_000
#: As the probe has it (recorder/flight.h).
BURST = 400
AWAY = frozenset({Stage.ASLEEP, Stage.RUNNABLE})


@dataclass(frozen=True)
class Run:
    """A run with windows; rows: by CPU and number, the parts that the section counted."""

    recording: Recording

    @cached_property
    def answer(self) -> Answer:
        return explain_recording(self.recording)

    @cached_property
    def traced(self) -> list[TracedActivation]:
        return [each for each in read_activations(self.recording) if each.breakdown.pieces]

    @cached_property
    def rows(self) -> dict[tuple[int, int], dict[str, int]]:
        table = pq.read_table(self.recording.directory / "samples.parquet").to_pylist()
        return {(row["cpu"], row["activation"]): row for row in table}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    memory = Path("/dev/shm")  # noqa: S108 (only a folder with a name of its own is used)
    if not memory.is_dir():
        pytest.skip("there is no file system in memory at /dev/shm")
    with tempfile.TemporaryDirectory(prefix="whylate-windows-", dir=memory) as name:
        source = Path(__file__).with_name("parts.c")
        command = ["cc", *FLAGS, "-O2", "-pthread", str(source), "-o", f"{name}/{NAME}"]
        subprocess.run(command, check=True)
        yield Path(name)


def make_run(condition: str, engine: str, *program: str) -> Callable[..., Run]:
    @pytest.fixture(scope="module")
    def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
        directory = tmp_path_factory.mktemp("windows") / "r"
        shell = ["sh", "-c", f'cd "$0" && exec ./{NAME} {" ".join(program)}', str(folder)]
        options = ("--comm", NAME, "--one-in", "1", "--recorder", engine)
        manifest = timed(directory, f"{CALLS} {condition}".strip(), *options, program=shell)
        report_of(manifest)
        if manifest.recorder is None or manifest.recorder.engine is None:
            pytest.skip(f"nothing can be recorded here: {manifest.recorder}")
        return Run(open_recording(directory))

    return run


sleeps = make_run("", "bpf", "sleeps", "500")
traced = make_run("", "tracefs", "sleeps", "500")
fights = make_run(f"if id=={RENAME}", "bpf", "fights", "8", "250")
RUNS = ("sleeps", "traced", "fights")


@pytest.mark.parametrize("name", RUNS)
def test_what_the_recorder_saw_is_what_the_section_counted(
    name: str, request: pytest.FixtureRequest
) -> None:
    run: Run = request.getfixturevalue(name)
    assert len(run.traced) > 20
    left, whole, wrong = 0, 0, 0
    for each in run.traced:
        breakdown = each.breakdown
        row = run.rows[breakdown.cpu, breakdown.activation]
        pieces = breakdown.pieces or ()
        assert breakdown.latency_ns == row["latency_ns"]
        assert sum(piece.length_ns for piece in pieces) == breakdown.latency_ns
        assert each.window.pid == row["pid"]
        leaves = row["slept_ns"] > 0 or row["lock_ns"] > NEAR_NS or row["begin_cpu"] != row["cpu"]
        # A window holds so many events: on a busy machine the longest executions have more.
        leaves &= each.window.observed_ns <= each.window.due_ns
        left += leaves
        # From being woken on, where the kernel does not trace switches from its idle threads.
        lost = sum(piece.length_ns for piece in pieces if piece.cause is Cause.NOT_OBSERVED)
        if lost > NEAR_NS:
            continue
        whole += leaves
        away = sum(piece.length_ns for piece in pieces if piece.stage in AWAY)
        least = row["slept_ns"] + row["preempted_ns"]
        # A part of the section is the wait for a lock, asleep or not.
        wrong += not least - NEAR_NS <= away <= least + row["lock_ns"] + NEAR_NS
    # Threads that sleep are woken, and run on, on any CPU.
    assert left > 10
    assert whole > 0.8 * left
    # The section has missed a switch back in one of 267: its time was unexplained there.
    assert wrong <= 0.02 * len(run.traced)


@pytest.mark.parametrize("name", RUNS)
def test_late_executions_and_others_are_recorded(name: str, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(name)
    reasons = {each.window.reason for each in run.traced}
    assert reasons == {"tail", "control"}
    durations = sorted(row["latency_ns"] for row in run.rows.values())
    control = [each for each in run.traced if each.window.reason == "control"]
    # They are drawn from all that are not late: cheap calls are most of those that sleep.
    if name != "fights":
        cheap = sum(each.breakdown.latency_ns < 1_000_000 for each in control)
        assert cheap > len(control) / 2
    # None came before the run, and then many at once: without an end to them, controls would take
    # the windows that may be copied in a burst. A busy machine takes longer for the program.
    report = run.recording.manifest.recorder
    assert report is not None
    assert len(control) < 0.75 * BURST or not report.rate_limited
    assert run.answer.threshold_ns >= durations[len(durations) // 2]


@pytest.mark.parametrize("name", ["sleeps", "traced"])
def test_a_sleep_is_named_by_its_timer(name: str, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(name)
    slept = [
        piece.detail
        for each in run.traced
        for piece in each.breakdown.pieces or ()
        if piece.cause is Cause.ASLEEP and each.breakdown.latency_ns > 1_000_000
    ]
    assert len(slept) > 5
    by_timer = [detail for detail in slept if "hrtimer_wakeup" in detail]
    assert len(by_timer) > 0.9 * len(slept)


def test_late_renames_wait_for_the_lock_of_their_directory(fights: Run) -> None:
    section, _ = report_of(fights.recording.manifest)
    if "locks" not in section.observed:
        pytest.skip("this kernel does not show waits for locks")
    late = [each for each in fights.traced if each.window.reason == "tail"]
    pieces = [piece for each in late for piece in each.breakdown.pieces or ()]
    locked = sum(piece.length_ns for piece in pieces if piece.cause is Cause.LOCK)
    assert locked > 0.5 * sum(piece.length_ns for piece in pieces)


def test_the_answer_is_of_executions(sleeps: Run) -> None:
    answer = sleeps.answer
    assert answer.population is not None
    line = headline(answer, answer.population)
    assert "late execution" in line
    assert "excess duration" in line
    assert answer.worst
    title = activation_title(answer.worst[0], answer)
    assert f", execution {answer.worst[0].breakdown.activation:,} of {NAME}/" in title


def test_perfetto_has_each_execution(sleeps: Run, tmp_path: Path) -> None:
    written = write_perfetto(tmp_path / "trace", lambda: read_activations(sleeps.recording))
    report = sleeps.recording.manifest.recorder
    assert report is not None
    assert written.windows + written.left_out == report.windows
    data = (tmp_path / "trace").read_bytes()
    assert b"begins" in data
    assert b"switched in" not in data


def test_without_a_recorder_explain_says_what_to_do(sleeps: Run) -> None:
    manifest = msgspec.structs.replace(sleeps.recording.manifest, recorder=None)
    answer = explain(manifest, sleeps.recording.series, ())
    assert answer.population is None
    assert "--recorder best" in no_answer(answer)


def test_of_a_fast_section_the_slowest_that_were_recorded_are_late(sleeps: Run) -> None:
    manifest = sleeps.recording.manifest
    assert manifest.section is not None
    # As if 500,000 a second had come before the run: 50 a second of them have windows.
    fast = msgspec.structs.replace(manifest.section, tried=50_000, tried_ns=100_000_000)
    fast_manifest = msgspec.structs.replace(manifest, section=fast)
    answers = [explain(each, sleeps.recording.series, ()) for each in (manifest, fast_manifest)]
    assert [answer.threshold_name for answer in answers] == [
        "the slowest thousandth",
        "the slowest of 20,000",
    ]
    assert answers[0].threshold_ns <= answers[1].threshold_ns
