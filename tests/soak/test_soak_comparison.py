"""Two sides are compared by pairs of cycles: interleaved, resumed, called when decided."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from soak_boards import PANIC, PaperBoard, recording

from soak_plans import wakeup_soak
from whylate.boards.errors import BoardBusyError
from whylate.cli.board import command as board_group
from whylate.cli.board import soak_run
from whylate.files import try_lock
from whylate.recording.errors import RecordingError
from whylate.run.errors import RequestError
from whylate.run.progress import Quiet
from whylate.soak import cycle as soak_cycle
from whylate.soak import run_result
from whylate.soak.carry_out import Goal
from whylate.soak.comparison import (
    ComparisonPlan,
    Side,
    compare_soaks,
    next_side,
    pair_up,
    read_comparison,
)
from whylate.soak.failure_kinds import CRASHES
from whylate.soak.journal import read_soak
from whylate.soak.kernel_log import KernelLog
from whylate.soak.model import Cause, Cycle, Outcome

PLAN = ComparisonPlan(sides=("old", "new"), counted=list(CRASHES))


class Watcher(Quiet):
    def __init__(self) -> None:
        self.ended: list[Cycle] = []

    def cycle_begins(self, number: int, so_far: Sequence[Cycle]) -> None: ...

    def cycle_ended(self, cycle: Cycle) -> None:
        self.ended.append(cycle)


QUIET = (Watcher(), Watcher())


def cycles(*outcomes: Outcome) -> list[Cycle]:
    return [
        Cycle(cycle=number, session=1, started="", outcome=outcome, stage="done", total_s=10.0)
        for number, outcome in enumerate(outcomes, start=1)
    ]


def with_crashes(crashes: int, of: int) -> list[Cycle]:
    """So many of the cycles crash, evenly spread."""
    every = of // crashes if crashes else of + 1
    return cycles(*("crashed" if n % every == every - 1 else "ok" for n in range(of)))


# -- what is called


def test_six_crashes_of_300_to_none_are_called() -> None:
    pairs = pair_up(with_crashes(0, 300), with_crashes(6, 300), CRASHES)
    assert (pairs.verdict, pairs.second_alone, pairs.first_alone) == ("worse", 6, 0)
    assert pair_up(with_crashes(6, 300), with_crashes(0, 300), CRASHES).verdict == "better"


def test_three_to_three_are_not_called() -> None:
    shifted = with_crashes(3, 300)
    pairs = pair_up(with_crashes(3, 300), shifted[50:] + shifted[:50], CRASHES)
    assert pairs == type(pairs)(300, 3, 3, 0, "inconclusive")


def test_pairs_in_which_both_crash_show_nothing() -> None:
    pairs = pair_up(with_crashes(30, 300), with_crashes(30, 300), CRASHES)
    assert (pairs.both, pairs.first_alone, pairs.second_alone) == (30, 0, 0)
    assert pairs.verdict == "inconclusive"


def test_what_was_decided_stays_decided() -> None:
    worse = with_crashes(6, 6) + with_crashes(0, 20)
    fine = with_crashes(0, 6) + with_crashes(20, 20)
    assert pair_up(fine, worse, CRASHES).count == 6


def test_cycles_that_did_not_try_the_workload_are_in_no_pair() -> None:
    first = cycles("ok", "no-power", "interrupted", "crashed", "no-boot")
    second = cycles("ok", "ok", "ok")
    pairs = pair_up(first, second, CRASHES)
    assert (pairs.count, pairs.first_alone) == (2, 1)


def test_only_the_kinds_that_were_asked_for_count_also_beside_others() -> None:
    failed = cycles("job-failed")
    assert pair_up(failed, cycles("ok"), CRASHES).first_alone == 0
    assert pair_up(failed, cycles("ok"), ["job-failed"]).first_alone == 1
    also = [
        msgspec.structs.replace(failed[0], causes=[Cause("program-crashed", "segfault", "cc1")])
    ]
    assert pair_up(also, cycles("ok"), CRASHES).first_alone == 1


def test_the_sides_take_turns_in_an_order_that_is_random_and_repeats() -> None:
    tried: list[list[Cycle]] = [[], []]
    order = []
    for _ in range(200):
        side = next_side(tried, seed=1)
        order.append(side)
        tried[side] = [*tried[side], *cycles("ok")]
    pairs = list(zip(order[::2], order[1::2], strict=True))
    assert all(sorted(pair) == [0, 1] for pair in pairs)
    assert 30 < sum(first for first, _ in pairs) < 70
    assert next_side([[], []], seed=1) == order[0]


# -- how it is carried out


@pytest.fixture
def no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that nobody measures."""

    def measured(_board: object, _request: object, directory: Path, *_: object) -> object:
        return recording(directory).manifest

    monkeypatch.setattr(soak_cycle, "measure", measured)
    monkeypatch.setattr(soak_cycle, "read_kernel_log", lambda *_: KernelLog())
    monkeypatch.setattr(run_result, "open_recording", recording)


def opener(directory: Path, *, crashes: bool) -> Callable[[], PaperBoard]:
    directory.mkdir(parents=True, exist_ok=True)

    def open_board() -> PaperBoard:
        board = PaperBoard(directory)
        if crashes:
            board.power.first_words += PANIC
        return board

    return open_board


def sides(directory: Path) -> tuple[Side, Side]:
    return (
        Side("old", wakeup_soak("board7"), opener(directory / "old", crashes=False)),
        Side("new", wakeup_soak("board8"), opener(directory / "new", crashes=True)),
    )


def test_a_comparison_stops_when_it_is_decided(no_runs: None, tmp_path: Path) -> None:
    del no_runs
    watcher = Watcher()
    both = (watcher, watcher)
    ended = compare_soaks(sides(tmp_path), PLAN, Goal(cycles=300), tmp_path / "c", both)
    assert ended == "decided"
    summary = read_comparison(tmp_path / "c")
    assert summary.pairs == type(summary.pairs)(6, 0, 6, 0, "worse")
    assert [side.crashes.count for side in summary.sides] == [0, 6]
    # Interleaved: after each pair both sides had as many cycles.
    outcomes = [cycle.outcome for cycle in watcher.ended]
    assert all({"ok", "crashed"} == set(outcomes[at : at + 2]) for at in range(0, len(outcomes), 2))


def test_a_comparison_ends_with_its_budget_and_goes_on_with_a_larger(
    no_runs: None, tmp_path: Path
) -> None:
    del no_runs
    both = sides(tmp_path)
    assert compare_soaks(both, PLAN, Goal(cycles=2), tmp_path / "c", QUIET) == "done"
    assert read_comparison(tmp_path / "c").pairs.verdict == "inconclusive"
    count = 0

    def stopped() -> bool:
        nonlocal count
        count += 1
        return count > 12

    ended = compare_soaks(both, PLAN, Goal(cycles=300), tmp_path / "c", QUIET, stopped)
    assert ended == "ended early"
    assert read_comparison(tmp_path / "c").pairs.count > 2
    assert compare_soaks(both, PLAN, Goal(cycles=300), tmp_path / "c", QUIET) == "decided"
    summary = read_comparison(tmp_path / "c")
    assert (summary.pairs.count, summary.pairs.second_alone) == (6, 6)


def test_another_comparison_is_not_mixed_in(no_runs: None, tmp_path: Path) -> None:
    del no_runs
    compare_soaks(sides(tmp_path), PLAN, Goal(cycles=1), tmp_path / "c", QUIET)
    other = msgspec.structs.replace(PLAN, counted=["hung"])
    with pytest.raises(RequestError, match="is another comparison"):
        compare_soaks(sides(tmp_path), other, Goal(cycles=1), tmp_path / "c", QUIET)


def test_a_side_that_never_boots_is_given_up(no_runs: None, tmp_path: Path) -> None:
    del no_runs

    def never_up() -> PaperBoard:
        board = opener(tmp_path / "dead", crashes=False)()
        board.waits = lambda: None
        return board

    dead = Side("dead", wakeup_soak("board9"), never_up)
    pair = (sides(tmp_path)[0], dead)
    goal = Goal(cycles=5, give_up=2)
    assert compare_soaks(pair, PLAN, goal, tmp_path / "c", QUIET) == "given up"


def test_a_comparison_that_was_given_up_goes_on_when_the_board_was_mended(
    no_runs: None, tmp_path: Path
) -> None:
    del no_runs
    up = False

    def mended() -> PaperBoard:
        board = opener(tmp_path / "mended", crashes=False)()
        board.waits = None if up else lambda: None
        return board

    pair = (sides(tmp_path)[0], Side("mended", wakeup_soak("board9"), mended))
    goal = Goal(cycles=3, give_up=2)
    assert compare_soaks(pair, PLAN, goal, tmp_path / "c", QUIET) == "given up"
    # As often as before: failures of an earlier start do not count.
    assert compare_soaks(pair, PLAN, goal, tmp_path / "c", QUIET) == "given up"
    outcomes = [cycle.outcome for cycle in read_soak(tmp_path / "c" / "b")[1]]
    assert outcomes == ["no-boot"] * 4
    up = True
    assert compare_soaks(pair, PLAN, goal, tmp_path / "c", QUIET) == "done"
    assert read_comparison(tmp_path / "c").pairs.count == 3


def test_another_workload_of_the_same_sides_is_another_comparison_though_it_is_decided(
    no_runs: None, tmp_path: Path
) -> None:
    del no_runs
    old, new = sides(tmp_path)
    assert compare_soaks((old, new), PLAN, Goal(cycles=300), tmp_path / "c", QUIET) == "decided"
    other = dataclasses.replace(new, plan=wakeup_soak("board8", run_for_ns=10**9))
    with pytest.raises(RequestError, match=r"c/b is a soak with duration 0\.1 s, not 1 s"):
        compare_soaks((old, other), PLAN, Goal(cycles=300), tmp_path / "c", QUIET)


def test_a_board_that_cannot_be_taken_for_a_while_is_counted_and_the_comparison_goes_on(
    no_runs: None, tmp_path: Path
) -> None:
    del no_runs
    opened = 0

    def busy_once() -> PaperBoard:
        nonlocal opened
        opened += 1
        board = opener(tmp_path / "busy", crashes=False)()
        if opened == 2:

            def hold(notify: object) -> None:
                del notify
                raise BoardBusyError("board9 is held by ann")

            board.hold = hold  # type: ignore[method-assign]
        return board

    pair = (sides(tmp_path)[0], Side("busy", wakeup_soak("board9"), busy_once))
    assert compare_soaks(pair, PLAN, Goal(cycles=3), tmp_path / "c", QUIET) == "done"
    soaked = read_soak(tmp_path / "c" / "b")[1]
    assert [cycle.outcome for cycle in soaked] == ["ok", "no-power", "ok", "ok"]
    assert soaked[1].why == "board9 is held by ann"
    # Where it is so from the beginning, that is said at once.
    opened = 1
    with pytest.raises(BoardBusyError):
        compare_soaks(pair, PLAN, Goal(cycles=9), tmp_path / "c", QUIET)


def test_a_comparison_that_was_killed_while_it_began_is_completed_and_has_one_process(
    no_runs: None, tmp_path: Path
) -> None:
    del no_runs
    directory = tmp_path / "c"
    directory.mkdir()
    (directory / "compare.json").write_bytes(msgspec.json.encode(PLAN))
    assert compare_soaks(sides(tmp_path), PLAN, Goal(cycles=1), directory, QUIET) == "done"
    fd = os.open(directory, os.O_RDONLY)
    try:
        assert try_lock(fd)
        with pytest.raises(RecordingError, match="another whylate that still runs"):
            compare_soaks(sides(tmp_path), PLAN, Goal(cycles=2), directory, QUIET)
    finally:
        os.close(fd)


# -- the verb


def test_the_verb_prints_the_sides_and_the_verdict(
    no_runs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del no_runs
    old, new = sides(tmp_path)
    opened = {"board7": old.open_board, "board8": new.open_board}
    monkeypatch.setattr(soak_run, "open_board", lambda name, _: opened[name]())

    def soak(*args: str) -> Any:
        return CliRunner().invoke(board_group, ["soak", *args])

    directory = str(tmp_path / "c")
    common = ("--off-for", "1ms", "-o", directory, "--compare", "board7", "board8")
    short = soak(*common, "--cycles", "2")
    assert short.exit_code == 3, short.output
    assert "inconclusive: 4 more crashes of one side alone would decide" in short.stdout
    done = soak(*common, "--cycles", "300")
    assert done.exit_code == 0, done.output
    assert "worse: B crashes more often than A (error rate 5 %, all looks together)" in done.stdout
    assert "6: A alone crashed in 0, B alone in 6, both in 0" in done.stdout
    shown = soak("--show", directory)
    assert shown.stdout == done.stdout
    reported = json.loads(soak("--show", directory, "--json").stdout)
    assert reported["summary"]["pairs"]["verdict"] == "worse"


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--compare", "pc", "pc"], "two sides that differ"),
        (["pc", "--compare", "a", "b"], "both sides of --compare are the same"),
        (["board7", "--compare", "a", "b:kernel=rt"], "on virtual boards alone"),
        (["pc", "--compare", "a", "b:dtb=./x.dtb"], "side b: a soak sets no boot files"),
        (["pc", "--compare", "a", "b:turbo=1"], "unknown knob 'turbo'"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(args: list[str], why: str) -> None:
    with pytest.raises(RequestError, match=why):
        board_group.main(
            ["soak", "--cycles", "1", *args, "cmd", "--", "true"], standalone_mode=False
        )


def test_variants_of_a_virtual_board_are_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Side] = []

    def compare(sides: tuple[Side, Side], *_: object, **__: object) -> None:
        seen.extend(sides)
        raise SystemExit(0)

    monkeypatch.setattr("whylate.cli.board.soak_run.compare", compare)
    knobs = "b:kernel=rt,cmdline:threadirqs=yes,thp=never,env:A=1"
    words = ["soak", "pc", "--cycles", "1", "--compare", "a", knobs, "cmd", "--", "make"]
    with pytest.raises(SystemExit):
        board_group.main(words, standalone_mode=False)
    first, second = (side.plan for side in seen)
    assert (first.board, second.board) == ("pc", "pc-rt")
    assert second.kernel_args == ["threadirqs"]
    assert [setting.value for setting in second.run.settings] == ["never"]
    assert "A=1" in second.run.workload.points[0].env  # type: ignore[union-attr]
