"""Studies on virtual boards: one is lost in mid-study, others boot for a knob."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import starts
from own_boards import own_boards
from study_watchers import StudyLog
from whylate.boards.board import notify_nobody
from whylate.boards.open import open_board
from whylate.boards.options import BoardOptions
from whylate.boards.qemu.board import QemuBoard
from whylate.boards.ready import ready
from whylate.lab.description import virtual_board
from whylate.recording.manifest import Manifest
from whylate.recording.reader import open_recording
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.run.knobs.commands import CommandKnob
from whylate.study.carry_out import Result, run_study
from whylate.study.journal import JOURNAL, StudyJournal, read_study
from whylate.study.model import FinishedRun, LoadSet, Stop, StudyPlan, Variant

pytestmark = pytest.mark.qemu

LOST, KEPT = "virt-arm64", "pc"


@pytest.fixture(autouse=True)
def boards() -> Iterator[Path]:
    with own_boards(LOST, f"{LOST}-rt", KEPT) as directory:
        yield directory


def switch_on(name: str) -> QemuBoard:
    """Return a board that stays on."""
    board = QemuBoard(virtual_board(name))
    board.stay_on()
    with ready(board, notify_nobody):
        pass
    return board


def lines(directory: Path) -> list[FinishedRun]:
    return read_study(directory)[1] if (directory / JOURNAL).exists() else []


def kept(directory: Path) -> list[FinishedRun]:
    """Return the runs that count: a starved host may have let one begin late, and made another."""
    return [item for item in lines(directory) if not item.failed]


def command(directory: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "whylate", "study", "run", "-o", str(directory), "--json"),
        *("--board", LOST, "--board", KEPT, "--for", "100ms", "--runs", "6", "--no-recorder"),
        *("--variant", "base", "--variant", "other:priority=20"),
    ]


def test_a_board_that_is_lost_keeps_what_it_has_and_the_other_goes_on(tmp_path: Path) -> None:
    study = tmp_path / "s"
    for name in (LOST, KEPT):
        switch_on(name)
    with subprocess.Popen(
        command(study), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as host:
        deadline = time.monotonic() + 580
        # Its supply fails after three runs, and again whenever it is switched on.
        while host.poll() is None:
            assert time.monotonic() < deadline
            # As another command finds it: the study switches it on anew.
            pid = QemuBoard(virtual_board(LOST)).machine.pid
            if pid is not None and sum(item.board == LOST for item in kept(study)) >= 3:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
        out, err = host.communicate()
    assert host.returncode == 3, err
    assert f"whylate: {LOST} was given up: " in err
    assert "Traceback" not in err
    outcome = {item["key"]["board"]: item for item in json.loads(out)["comparisons"]}
    assert (outcome[KEPT]["over"], outcome[KEPT]["rounds"]) == (True, 6)
    assert not outcome[LOST]["over"]
    done = lines(study)
    made = Counter(item.board for item in kept(study))
    assert made[KEPT] == 12
    assert 3 <= made[LOST] < 12
    # Each try of the run at which it was given up is told of.
    given_up = [item for item in done if item.board == LOST][-3:]
    assert all(item.failed for item in given_up), given_up
    assert len({(item.variant, item.round) for item in given_up}) == 1, given_up
    for item in kept(study):
        assert open_recording(study / item.recording).manifest.state == "complete"
    # The same command goes on where it was, with a board that is there again.
    switch_on(LOST)
    again = starts.run(command(study), capture_output=True, text=True, timeout=580, check=False)
    outcome = {item["key"]["board"]: item for item in json.loads(again.stdout)["comparisons"]}
    assert [outcome[name]["rounds"] for name in (LOST, KEPT)] == [6, 6], again.stderr
    assert lines(study)[: len(done)] == done
    assert Counter(item.board for item in kept(study)) == {LOST: 12, KEPT: 12}


def plan(*variants: Variant, rounds: int = 2, **more: CommandKnob) -> StudyPlan:
    return StudyPlan(
        workload=Wakeup(duration_ns=200_000_000, interval_ns=1_000_000, priority=80),
        boards=[LOST],
        variants=list(variants),
        loads=[LoadSet("idle", [])],
        stop=Stop("runs", [rounds]),
        knobs=more,
        smp=1,
    )


def carried_out(directory: Path, wanted: StudyPlan) -> tuple[Result, StudyLog]:
    log = StudyLog()
    with StudyJournal(directory, wanted) as journal:
        result = run_study(
            journal,
            wanted,
            lambda name, words: open_board(name, BoardOptions(wanted.smp, words)),
            log,
            lambda: False,
        )
    return result, log


def fact(manifest: Manifest, name: str) -> object:
    return {item.name: item.value for item in manifest.facts}[name]


def test_a_board_boots_for_each_run_that_a_kernel_or_its_command_line_needs_it_for(
    tmp_path: Path,
) -> None:
    wanted = plan(
        Variant("base"),
        Variant("rt", {"kernel": "rt", "cmdline:skew_tick": "1", "command:note": "it's new"}),
        note=CommandKnob("cat /note", "sh -c 'echo \"$1\" >/note' sh {value}"),
    )
    files = wanted.knobs["note"]
    with pytest.raises(RequestError, match=r"variant rt on virt-arm64: knob command:note: cat "):
        # There is no such file, and that is said before anything is measured.
        carried_out(tmp_path / "none", wanted)
    there = CommandKnob("sh -c 'cat /note 2>/dev/null || echo none'", files.write)
    wanted = plan(*wanted.variants, note=there)
    result, _ = carried_out(tmp_path / "s", wanted)
    assert not result.lost
    done = kept(tmp_path / "s")
    assert len(done) == 4
    outcome = {
        item.recording: open_recording(tmp_path / "s" / item.recording).manifest for item in done
    }
    assert len({fact(item, "boot_id") for item in outcome.values()}) == 4
    for path, manifest in outcome.items():
        rt = "/rt/" in path
        assert manifest.board == (f"{LOST}-rt" if rt else LOST)
        assert (fact(manifest, "preemption") == "rt") == rt
        line = fact(manifest, "kernel_command_line")
        assert isinstance(line, list)
        assert ("skew_tick=1" in line) == rt
    (standing,) = result.standings.values()
    assert standing.comparison is not None
    assert (standing.comparison.first.boots, standing.comparison.second.boots) == (2, 2)
    assert any(f"{LOST}-rt in rt" in text for text in standing.comparison.cautions)


def test_a_board_that_does_not_boot_for_its_command_line_ends_the_study(tmp_path: Path) -> None:
    board = switch_on(LOST)
    wanted = plan(Variant("base"), Variant("other", {"cmdline:skew_tick": "1"}))
    with pytest.raises(RequestError) as error:
        carried_out(tmp_path / "s", wanted)
    assert "variant other on virt-arm64: knob cmdline: skew_tick=1 is not on" in str(error.value)
    assert "whylate board off virt-arm64" in str(error.value)
    assert all(item.variant == "base" for item in lines(tmp_path / "s"))
    assert board.power.is_on()
