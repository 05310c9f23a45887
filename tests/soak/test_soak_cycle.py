"""What becomes of a soak's cycles, and how a soak ends: on a board of paper."""

from __future__ import annotations

import json
import re
import select
import threading
import time
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from soak_boards import BOOT, PANIC, PaperBoard, recording

from soak_plans import wakeup_soak
from whylate.boards.board import Board
from whylate.boards.errors import BoardError
from whylate.boards.facts.snapshot import FileContent
from whylate.boards.notes import noted_run
from whylate.cli.board import command as board_group
from whylate.cli.board import soak_run
from whylate.cli.board.soak_table import percent
from whylate.recording.console.crashes import find_crashes
from whylate.recording.manifest import AppEnd, Manifest, Problem
from whylate.recording.plan import RunPlan
from whylate.recording.reader import Recording
from whylate.run.progress import Quiet, Step
from whylate.soak import cycle as soak_cycle
from whylate.soak import run_result
from whylate.soak.carry_out import Ended, Goal, soak
from whylate.soak.failure_kinds import CRASHES
from whylate.soak.guard import Guard
from whylate.soak.journal import read_soak
from whylate.soak.kernel_log import KernelLog, logged_before, search_log
from whylate.soak.model import Cycle, SoakPlan

PLAN = wakeup_soak()


class Watcher(Quiet):
    def cycle_begins(self, number: int, so_far: Sequence[Cycle]) -> None: ...

    def cycle_ended(self, cycle: Cycle) -> None: ...


@pytest.fixture
def board(tmp_path: Path) -> PaperBoard:
    return PaperBoard(tmp_path)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is to be said of the runs, which nobody measures."""
    printed: dict[str, Any] = {}

    def opened(directory: Path) -> Recording:
        of_runs = {name: value for name, value in printed.items() if name != "logged"}
        return recording(directory, **of_runs)

    def measured(_board: object, _request: object, directory: Path, *_: object) -> object:
        return opened(directory).manifest

    monkeypatch.setattr(soak_cycle, "measure", measured)
    monkeypatch.setattr(
        soak_cycle, "read_kernel_log", lambda *_: printed.get("logged", KernelLog())
    )
    monkeypatch.setattr(run_result, "open_recording", opened)
    return printed


@pytest.fixture
def command(
    board: PaperBoard,
    runs: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Result]:
    """`whylate board soak` on the board of paper; ended by the user after so many cycles."""
    del runs
    directory = tmp_path / "s"

    def carry_out(*arguments: str, end_after: int = 1000) -> Result:
        class Interrupt:
            def wanted(self) -> bool:
                journal = directory / "cycles.jsonl"
                return journal.exists() and journal.read_bytes().count(b"\n") >= end_after

        monkeypatch.setattr("whylate.cli.board.soak.Interrupt", Interrupt)
        monkeypatch.setattr(soak_run, "open_board", lambda *_: board)
        common = ["soak", "board7", "--off-for", "1ms", "-o", str(directory)]
        return CliRunner().invoke(board_group, [*common, *arguments])

    return carry_out


def carried_out(
    board: PaperBoard, directory: Path, stopped: Callable[[], bool], **wanted: Any
) -> tuple[Ended, list[Cycle]]:
    plan = SoakPlan(**{**{name: getattr(PLAN, name) for name in PLAN.__struct_fields__}, **wanted})
    goal = Goal(cycles=1)
    ended = soak(board, plan, goal, directory, Watcher(), stopped)
    return ended, read_soak(directory)[1]


# -- runs that have no verdict


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ({"dropped": 7}, "7 of 107 activations were dropped"),
        ({"policy": "other"}, 'the probe ran with policy "other" instead of fifo'),
    ],
)
def test_a_cycle_whose_run_has_no_verdict_has_failed(
    command: Callable[..., Result], runs: dict[str, Any], tmp_path: Path, printed: Any, why: str
) -> None:
    runs.update(printed)
    done = command("--cycles", "1")
    assert done.exit_code == 1, done.output
    [cycle] = read_soak(tmp_path / "s")[1]
    assert (cycle.outcome, cycle.stage) == ("run-failed", "run")
    assert why in cycle.why


@pytest.mark.parametrize(("late_runs", "outcome", "made"), [(2, "ok", 3), (9, "run-failed", 4)])
def test_a_run_that_began_too_late_is_made_again(
    command: Callable[..., Result],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    late_runs: int,
    outcome: str,
    made: int,
) -> None:
    late = Problem("late-start", "the thread of CPU 1 was let go after its first deadline", True)
    measured: list[Path] = []

    def opened(directory: Path) -> Recording:
        return recording(directory, problems=[late] if len(measured) <= late_runs else [])

    def measure(_board: object, _plan: object, directory: Path, *_: object) -> Manifest:
        measured.append(directory)
        return opened(directory).manifest

    monkeypatch.setattr(soak_cycle, "measure", measure)
    monkeypatch.setattr(run_result, "open_recording", opened)
    done = command("--cycles", "1")
    [cycle] = read_soak(tmp_path / "s")[1]
    assert (cycle.outcome, len(measured)) == (outcome, made)
    assert cycle.late_starts == made - 1
    assert re.search(rf"late starts +{made - 1} runs made again", done.output)
    assert f"begun late {made - 1} times" in done.output
    assert late.text in cycle.why or outcome == "ok"


def test_a_cycle_whose_run_can_be_trusted_is_ok(
    command: Callable[..., Result], tmp_path: Path
) -> None:
    assert command("--cycles", "2").exit_code == 0
    cycles = read_soak(tmp_path / "s")[1]
    assert [item.outcome for item in cycles] == ["ok", "ok"]
    assert cycles[0].latency is not None
    assert (cycles[0].latency.seen, cycles[0].latency.max_ns) == (100, 9_000)


def test_a_cycle_has_the_stages_of_its_boot_and_the_table_says_which_were_not_seen(
    command: Callable[..., Result], tmp_path: Path
) -> None:
    done = command("--cycles", "2")
    assert "power → kernel" in done.output
    assert "rom, spl, u-boot, grub, handover, clock-source, init, systemd, login" in " ".join(
        done.output.split()
    )
    for cycle in read_soak(tmp_path / "s")[1]:
        [stage] = cycle.boot_stages or []
        assert (stage.name, stage.kernel_s, stage.times) == ("kernel", 0.0, 1)
        assert 0 <= stage.at_s <= (cycle.boot_s or 0) + 0.01


def test_a_soak_looks_for_the_stages_of_a_file(
    command: Callable[..., Result], board: PaperBoard, tmp_path: Path
) -> None:
    board.power.first_words = BOOT + b"app: 3 of 3 ready\n"
    file = tmp_path / "stages.toml"
    file.write_text('app = "app: * ready"\n')
    assert command("--cycles", "1", "--boot-stages", str(file)).exit_code == 0
    [cycle] = read_soak(tmp_path / "s")[1]
    assert [stage.name for stage in cycle.boot_stages or []] == ["kernel", "app"]
    file.write_text('app = "never"\n')
    shown = CliRunner().invoke(board_group, ["soak", "--show", str(tmp_path / "s")])
    assert "kernel → app" in shown.output
    other = command("--cycles", "2", "--boot-stages", str(file))
    assert "other boot stages (app: app: * ready, not never)" in str(other.exception)
    assert len(read_soak(tmp_path / "s")[1]) == 1


def test_a_soak_looks_for_the_stages_that_the_bench_declares_unless_there_is_a_file(
    command: Callable[..., Result],
    board: PaperBoard,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LG_ENV", str(tmp_path / "bench.yaml"))
    (tmp_path / "bench.yaml").write_text(
        "targets: {board7: {options: {whylate: {boot-stages: {app: 'app: up'}}}}}\n"
    )
    board.power.first_words = BOOT + b"app: up\nother: up\n"
    assert command("--cycles", "1").exit_code == 0
    [cycle] = read_soak(tmp_path / "s")[1]
    assert [stage.name for stage in cycle.boot_stages or []] == ["kernel", "app"]
    (tmp_path / "stages.toml").write_text('other = "other: up"\n')
    refused = command("--cycles", "2", "--boot-stages", str(tmp_path / "stages.toml"))
    assert "other boot stages (app: app: up, not none)" in str(refused.exception)


def test_a_recording_that_is_removed_is_not_remembered(
    command: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    measure: Callable[..., Manifest] = soak_cycle.__dict__["measure"]

    def measured(on: Board, request: RunPlan, directory: Path, *rest: Any) -> Manifest:
        with noted_run(on.name, directory):
            directory.mkdir()
            (directory / "manifest.json").touch()
        return measure(on, request, directory, *rest)

    monkeypatch.setattr(soak_cycle, "measure", measured)
    assert command("--cycles", "2", "--keep", "failures").exit_code == 0
    assert not list((tmp_path / "s").rglob("manifest.json"))
    noted = json.loads((tmp_path / "run" / "board7" / "runs.json").read_text())
    assert noted == {"recordings": []}


# -- programs that crash, and jobs that fail

SEGFAULT = "sparse[17287]: segfault at 0 ip 000055a3e02575d4 sp 00007ffe20cd0c70 error 4 in sparse"


def test_a_program_that_crashed_in_the_kernels_log_alone_is_a_failure(
    command: Callable[..., Result], runs: dict[str, Any], tmp_path: Path
) -> None:
    runs.update(logged=KernelLog(find_crashes(SEGFAULT)))
    done = command("--cycles", "2")
    assert done.exit_code == 1, done.output
    cycles = read_soak(tmp_path / "s")[1]
    assert [(item.outcome, item.why) for item in cycles] == [("program-crashed", SEGFAULT)] * 2
    assert "segfault" in done.stdout
    # What was measured is kept.
    assert all(item.latency is not None and item.figures for item in cycles)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "the probe did not send it"),
        (FileContent(b"", "EPERM"), r"EPERM \(kernel.dmesg_restrict: for root alone\)"),
        (FileContent(b"[ 1.0] x\n", None, truncated=True), "its newest lines, beyond 1024 KiB"),
    ],
)
def test_a_kernel_log_that_was_not_read_is_told_though_the_cycle_is_fine(
    command: Callable[..., Result],
    runs: dict[str, Any],
    tmp_path: Path,
    content: FileContent | None,
    why: str,
) -> None:
    runs.update(logged=search_log(content))
    done = command("--cycles", "2")
    assert done.exit_code == 0, done.output
    cycles = read_soak(tmp_path / "s")[1]
    assert all(re.search(why, item.kernel_log_unread) for item in cycles), cycles
    assert "kernel log not read in 2 cycles, first in cycle 1: " in " ".join(done.stdout.split())


def test_what_is_in_the_part_of_a_kernel_log_that_was_read_counts() -> None:
    log = search_log(FileContent(SEGFAULT.encode(), None, truncated=True))
    assert [crash.sort for crash in log.crashes] == ["segfault"]
    assert search_log(FileContent(SEGFAULT.encode(), None)).unread == ""


def test_what_a_kernel_logged_before_the_cycle_is_not_of_the_cycle() -> None:
    log = "".join(
        f"<6>[{stamp:12.6f}] {name}[7]: segfault at 0 ip 0 sp 0 error 4\n of {name}\n"
        for stamp, name in ((14118.5, "older"), (26000.0, "newer"))
    )
    content = FileContent(log.encode(), None)
    assert len(search_log(content).crashes) == 2
    assert ["newer" in crash.headline for crash in search_log(content, 25000.0).crashes] == [True]
    # Up for longer than the cycle: it was not the cycle that booted the kernel.
    assert logged_before(26010.0, 60.0) == pytest.approx(25940.0)
    assert logged_before(55.0, 60.0) == 0.0
    assert logged_before(None, 60.0) == 0.0


def test_a_program_that_crashed_on_the_console_is_a_failure_of_a_run_that_was_fine(
    board: PaperBoard, runs: dict[str, Any], tmp_path: Path
) -> None:
    del runs
    board.power.first_words += f"[    4.000000] {SEGFAULT}\n".encode()
    _, [cycle] = carried_out(board, tmp_path / "s", lambda: False)
    assert (cycle.outcome, cycle.why) == ("program-crashed", SEGFAULT)
    assert [(cause.kind, cause.what) for cause in cycle.causes] == [("program-crashed", "segfault")]


@pytest.mark.parametrize(
    ("end", "outcome", "why"),
    [
        (AppEnd(0, 0), "ok", ""),
        (AppEnd(3, 0), "job-failed", "it ended with status 3"),
        (AppEnd(0, 15), "job-failed", "it was ended by signal 15 (SIGTERM)"),
        (AppEnd(0, 6), "program-crashed", "it was ended by signal 6 (SIGABRT)"),
    ],
)
def test_a_program_that_was_started_ends_as_a_job_does(
    board: PaperBoard, runs: dict[str, Any], tmp_path: Path, end: AppEnd, outcome: str, why: str
) -> None:
    runs.update(app_end=end)
    _, [cycle] = carried_out(board, tmp_path / "s", lambda: False)
    assert (cycle.outcome, cycle.why) == (outcome, why)


# -- until a crash


def test_a_soak_until_a_crash_leaves_the_board_as_it_is(
    command: Callable[..., Result], board: PaperBoard, tmp_path: Path
) -> None:
    board.power.first_words += PANIC
    done = command("--cycles", "9", "--until-crash")
    assert done.exit_code == 1, done.output
    [cycle] = read_soak(tmp_path / "s")[1]
    assert (cycle.outcome, cycle.left_on) == ("crashed", True)
    assert board.stays_on
    assert board.power.state
    assert board.power.history == [False, True], "its power was not cut after the crash"
    assert "The soak was ended at a crash" in done.stdout
    assert "its console: whylate board console board7" in done.stdout


def test_it_is_switched_off_where_it_did_not_crash_and_goes_on(
    command: Callable[..., Result], board: PaperBoard, runs: dict[str, Any], tmp_path: Path
) -> None:
    runs.update(dropped=7)  # a run without a verdict is no crash
    done = command("--cycles", "2", "--until-crash")
    cycles = read_soak(tmp_path / "s")[1]
    assert [(item.outcome, item.left_on) for item in cycles] == [("run-failed", False)] * 2
    assert not board.power.state
    assert "its console" not in done.stdout


def test_a_soak_that_ended_at_a_crash_resumes_with_the_power_cut(
    command: Callable[..., Result], board: PaperBoard, tmp_path: Path
) -> None:
    board.power.first_words += PANIC
    command("--cycles", "9", "--until-crash")
    board.power.first_words = BOOT
    assert command("--cycles", "3", "--until-crash").exit_code == 1
    cycles = read_soak(tmp_path / "s")[1]
    assert [item.outcome for item in cycles] == ["crashed", "ok", "ok"]
    assert board.power.history[2:4] == [False, True]
    assert not board.power.state


# -- runs that exceed their time, and boards that hang


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch, runs: dict[str, Any]) -> None:
    """Runs that are over when their line is."""
    del runs

    def measured(
        board: Any, _request: object, directory: Path, observer: Any, *_: object
    ) -> Manifest:
        stream = board.start_probe(observer.log).stream
        observer.step(Step.MEASURE)
        deadline = time.monotonic() + 20
        while not select.select([stream.fileno()], [], [], 0.05)[0]:
            assert time.monotonic() < deadline
        assert stream.read(1) == b""
        assert stream.last_words() == "the soak ended the connection"
        with pytest.raises(BrokenPipeError):
            stream.write(b"x")
        stream.close()
        return msgspec.structs.replace(recording(directory).manifest, state="cut")

    monkeypatch.setattr(soak_cycle, "measure", measured)


def test_a_slow_run_on_a_board_that_answers_is_no_hang(
    board: PaperBoard, endless: None, tmp_path: Path
) -> None:
    del endless
    _, [cycle] = carried_out(board, tmp_path / "s", lambda: False, run_timeout_s=0.3)
    assert (cycle.outcome, cycle.stage) == ("timed-out", "run")
    assert cycle.why.startswith("it exceeded its time limit")
    assert cycle.outcome not in CRASHES
    assert board.power.history == [False, True, False, False], (
        "at the ends of the cycle and the soak"
    )


def test_a_silent_board_whose_run_exceeds_its_time_hangs(
    board: PaperBoard, endless: None, tmp_path: Path
) -> None:
    del endless
    board.silent = True
    _, [cycle] = carried_out(board, tmp_path / "s", lambda: False, run_timeout_s=0.3)
    assert (cycle.outcome, cycle.stage) == ("hung", "run")
    assert not board.power.state


def test_a_silent_board_keeps_its_power_until_a_crash(
    command: Callable[..., Result], board: PaperBoard, endless: None, tmp_path: Path
) -> None:
    del endless
    board.silent = True
    done = command("--cycles", "9", "--until-crash", "--run-timeout", "300ms")
    [cycle] = read_soak(tmp_path / "s")[1]
    assert (cycle.outcome, cycle.left_on) == ("hung", True)
    assert board.power.history == [False, True]
    assert "board7 is on, as it was after: it exceeded its time limit" in done.stdout


def test_the_power_of_a_run_that_does_not_end_with_its_line_is_cut(
    board: PaperBoard, runs: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del runs

    def measured(*_: object) -> Manifest:
        deadline = time.monotonic() + 20
        while board.power.state:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        raise BoardError("it is off")

    monkeypatch.setattr(soak_cycle, "measure", measured)
    monkeypatch.setattr(soak_cycle, "HANG_UP_S", 0.2)
    _, [cycle] = carried_out(board, tmp_path / "s", lambda: False, run_timeout_s=0.2)
    assert cycle.outcome == "hung"


def test_a_board_that_hangs_after_a_job_failed_hangs(
    board: PaperBoard, runs: dict[str, Any], tmp_path: Path
) -> None:
    runs.update(app_end=AppEnd(3, 0))
    board.silent = True
    _, [cycle] = carried_out(board, tmp_path / "s", lambda: False)
    assert (cycle.outcome, cycle.why) == (
        "hung",
        "it stopped answering; it ended with status 3",
    )
    # The job failed as well.
    assert [cause.kind for cause in cycle.causes] == ["job-failed"]


# -- crashes, and users who leave


def test_a_panic_is_a_crash_though_the_user_ends_the_soak(
    board: PaperBoard, tmp_path: Path
) -> None:
    left = threading.Event()

    def wait() -> None:
        board.power.say(PANIC)
        left.set()
        while board.power.state:  # until the user's wish has cut its power
            time.sleep(0.01)

    board.waits = wait
    _, [cycle] = carried_out(board, tmp_path / "s", left.is_set)
    assert (cycle.outcome, cycle.stage) == ("crashed", "boot")
    assert "Unable to mount root fs" in cycle.why


def test_what_a_board_says_while_its_power_is_cut_is_no_crash(
    board: PaperBoard, tmp_path: Path
) -> None:
    left = threading.Event()

    def wait() -> None:
        left.set()
        while board.power.state:
            time.sleep(0.01)

    board.waits = wait
    board.power.last_words = PANIC
    ended, [cycle] = carried_out(board, tmp_path / "s", left.is_set)
    assert (ended, cycle.outcome) == ("ended early", "interrupted")


def test_a_panic_after_a_cut_that_came_too_early_is_a_crash(
    board: PaperBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, cut = threading.Event(), threading.Event()

    class Told(Guard):
        def _cut_it(self) -> None:
            super()._cut_it()
            cut.set()

    def too_early() -> None:
        """The supply is told before it was switched on, and the board comes on after that."""

    def wait() -> None:
        left.set()
        # What a board says until then may be said while its power goes.
        assert cut.wait(10)
        board.power.say(PANIC)
        board.power.state = False

    monkeypatch.setattr(soak_cycle, "Guard", Told)
    board.waits = wait
    board.power.off = too_early  # type: ignore[method-assign]
    _, [cycle] = carried_out(board, tmp_path / "s", left.is_set)
    assert cycle.outcome == "crashed"


# -- how it ends


def test_a_soak_that_was_ended_early_has_not_passed(command: Callable[..., Result]) -> None:
    done = command("--cycles", "100", end_after=3)
    assert done.exit_code == 3, done.output
    assert "The soak was ended early: 3 of 100 cycles." in done.stdout


def test_a_soak_for_a_time_that_was_ended_early_has_not_passed(
    command: Callable[..., Result],
) -> None:
    done = command("--for", "8h", end_after=2)
    assert done.exit_code == 3, done.output
    assert "The soak was ended early: 0 s of 8 h 0 min." in done.stdout


def test_a_soak_that_was_ended_early_with_failures_has_failed(
    command: Callable[..., Result], runs: dict[str, Any]
) -> None:
    runs.update(dropped=1)
    assert command("--cycles", "100", end_after=1).exit_code == 1


@pytest.mark.parametrize(("end_after", "ended"), [(3, "ended early"), (4, "done")])
def test_programs_are_told_how_it_ended_and_what_its_goal_was(
    command: Callable[..., Result], end_after: int, ended: str
) -> None:
    done = command("--cycles", "4", "--json", end_after=end_after)
    reported = json.loads(done.stdout)
    assert reported["ended"] == ended
    assert reported["goal"] == {
        "cycles": 4, "seconds": None, "give_up": 20, "until_crash": False,
    }  # fmt: skip
    assert reported["summary"]["cycles"] == end_after


def test_a_soak_that_is_only_shown_has_no_goal(
    command: Callable[..., Result], tmp_path: Path
) -> None:
    command("--cycles", "1")
    done = CliRunner().invoke(board_group, ["soak", "--show", str(tmp_path / "s"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["ended"] is None


# -- how it leaves the board


@pytest.mark.parametrize("result", [True, False, None])
def test_a_board_is_on_at_the_end_only_if_it_was_seen_to_be_on(
    board: PaperBoard, runs: dict[str, Any], tmp_path: Path, result: bool | None
) -> None:
    del runs
    board.power.state = result is not False
    board.power.says = lambda state: None if result is None else state
    _, [cycle] = carried_out(board, tmp_path / "s", lambda: False)
    assert cycle.outcome == "ok", cycle.why
    assert board.power.state is bool(result)


# -- what is printed


@pytest.mark.parametrize(
    ("rate", "rounding", "shown"),
    [
        (0.03621669, ROUND_CEILING, "3.7 %"),
        (0.05445939, ROUND_CEILING, "5.5 %"),
        (0.0002531460, ROUND_FLOOR, "0.025 %"),
        (0.006299, ROUND_FLOOR, "0.62 %"),
        (0.9901, ROUND_CEILING, "100 %"),
        (0.9999, ROUND_FLOOR, "99 %"),
        (0.07, ROUND_CEILING, "7 %"),
        (1.0, ROUND_CEILING, "100 %"),
        (0.0, ROUND_FLOOR, "0 %"),
    ],
)
def test_a_limit_that_is_printed_still_holds(rate: float, rounding: str, shown: str) -> None:
    assert percent(rate, rounding) == shown
