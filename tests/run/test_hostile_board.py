"""A board that floods, trickles or lies: the host says so soon, and keeps what was measured."""

from __future__ import annotations

import re
import sys
import time
import tracemalloc
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import starts
from whylate.boards.board import Notify, StartedProbe
from whylate.boards.local import LocalBoard
from whylate.boards.streams.process import ProcessStream
from whylate.probe.budget import CPUS, FACTS
from whylate.probe.errors import ProbeFloodError, ProbeTimeoutError
from whylate.recording.manifest import Manifest
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run import measure
from whylate.run.progress import Quiet

PROBE = Path(__file__).with_name("hostile_probe.py")
#: Long before the patience with a silent board is over, on a busy machine too.
SOON_S = 25.0
PLAN = RunPlan(workload=Wakeup(duration_ns=10**9, interval_ns=1_000_000), cpus=[0])


@dataclass
class HostileBoard(LocalBoard):
    """This machine, with another program in the place of the probe."""

    what: str

    def start_probe(self, notify: Notify) -> StartedProbe:
        del notify
        stream = ProcessStream([sys.executable, str(PROBE), self.what])
        return StartedProbe(stream, self.binary)


def run(what: str, directory: Path) -> Manifest:
    return measure.measure(HostileBoard(what), PLAN, directory, Quiet())


@pytest.fixture(autouse=True)
def no_overtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "OVERTIME_S", 1.0)
    monkeypatch.setattr(measure, "FACTS", replace(FACTS, bytes=4 << 20, frames=2000))


@pytest.mark.parametrize(
    ("what", "match"),
    [
        ("notes for a hello", r"\d+ of them Note\) while it was to say hello: at most"),
        ("welcomes", r"\d+ of them Welcome\) while"),
        ("notes for frequencies", r"\d+ of them Note\) while it timed its CPUs"),
        ("files", r"\d+ of them File\) while it was read"),
        ("an endless file", r"\d+ of them File\) while it was read"),
        ("marks", "the board sent .* messages"),
        ("requests", "the board sent .* messages"),
        ("garbage", r"4\.\d MiB that are no messages of a probe, the first of them ['\"]"),
        ("zeros", r"4\.\d MiB that are no messages of a probe, the first of them '"),
        ("garbage after hello", "that are no messages of a probe"),
    ],
)
def test_a_board_that_floods_before_it_measures_is_left_with_one_clear_line(
    what: str, match: str, tmp_path: Path
) -> None:
    began = time.monotonic()
    tracemalloc.start()
    try:
        with pytest.raises(ProbeFloodError, match=match) as raised:
            run(what, tmp_path / "run")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert time.monotonic() - began < SOON_S
    text = str(raised.value)
    assert text.isprintable()
    assert "power the board off and on" in text
    assert not (tmp_path / "run").exists()


def test_a_board_that_trickles_what_is_no_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "CPUS", replace(CPUS, seconds=3.0))
    with pytest.raises(ProbeTimeoutError, match="did not end within 3 s while it timed its CPUs"):
        run("a trickle of notes", tmp_path / "run")


@pytest.mark.parametrize(
    ("what", "match"),
    [
        ("notes while it measures", r"of them Note\) while it measured|threads did not end"),
        # A host that is too busy to be flooded meets the other bound first.
        ("samples", r"\d+ of them Samples\) while it measured|sends less than 500 bytes/s"),
        ("the same overruns", "sends less than 500 bytes/s|of them Samples"),
        ("a trickle of progress", "the measuring threads did not end"),
        ("a trickle of old samples", "sends less than 500 bytes/s"),
        ("notes for finish", r"\d+ of them Note\) while it put back its settings"),
        ("an absurd result", "the measuring threads did not end"),
    ],
)
def test_a_flood_while_it_measures_ends_the_run_and_what_was_measured_is_kept(
    what: str, match: str, tmp_path: Path
) -> None:
    began = time.monotonic()
    manifest = run(what, tmp_path / "run")
    assert time.monotonic() - began < SOON_S
    (problem,) = [problem for problem in manifest.problems if problem.code == "probe"]
    assert re.search(match, problem.text), problem.text
    assert problem.fatal
    assert len(manifest.problems) < 250
    assert (tmp_path / "run" / "manifest.json").stat().st_size < 1 << 20


@pytest.mark.parametrize(
    "what",
    [
        "an interval of 0",
        "an endless interval",
        "a start at the end of time",
        "a run without an end",
        "a run of a century",
        "an end before the start",
        "absurd progress",
        "absurd counts",
    ],
)
def test_absurd_numbers_are_malformed_messages_and_the_recording_can_be_judged(
    what: str, tmp_path: Path
) -> None:
    manifest = run(what, tmp_path / "run")
    fatal = {problem.code for problem in manifest.problems if problem.fatal}
    assert fatal & {"line", "journal"}
    report = starts.run(
        [sys.executable, "-m", "whylate", "report", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert report.returncode == 3
    assert "Traceback" not in report.stderr
