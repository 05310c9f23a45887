"""A soak's directory: what was written stays, what is another's is left alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from soak_boards import PANIC, PaperBoard

from soak_plans import wakeup_soak
from whylate.recording.errors import RecordingError
from whylate.recording.plan import LoadPlan, RunPlan
from whylate.recording.store.lines import MAX_LINE
from whylate.run.errors import RequestError
from whylate.run.progress import Quiet
from whylate.run.workloads.command import CommandTable
from whylate.soak.carry_out import Goal, soak
from whylate.soak.journal import JOURNAL, SoakJournal, cycle_directory, read_soak
from whylate.soak.model import Cycle, Outcome


class Watcher(Quiet):
    def cycle_begins(self, number: int, so_far: Sequence[Cycle]) -> None: ...

    def cycle_ended(self, cycle: Cycle) -> None: ...


PLAN = wakeup_soak(run_for_ns=10**9, loads=[LoadPlan("net", 2)])


def cycle(number: int, outcome: Outcome = "ok", session: int = 1) -> Cycle:
    return Cycle(cycle=number, session=session, started="2026-01-01", outcome=outcome, stage="done")


def soaked(directory: Path, *cycles: Cycle) -> Path:
    with SoakJournal(directory, PLAN) as journal:
        for item in cycles:
            journal.begin()
            journal.append(item)
    return directory


def test_a_soak_goes_on_where_it_was(tmp_path: Path) -> None:
    soak = soaked(tmp_path / "s", cycle(1), cycle(2, "no-boot"))
    with SoakJournal(soak, PLAN) as journal:
        assert [item.outcome for item in journal.cycles] == ["ok", "no-boot"]
        assert journal.session == 2
        assert journal.begin() == (3, soak / "cycles" / "000003")


def test_a_cycle_that_a_killed_host_left_is_interrupted_by_us(tmp_path: Path) -> None:
    soak = soaked(tmp_path / "s", cycle(1))
    with SoakJournal(soak, PLAN) as journal:
        journal.begin()
        (cycle_directory(soak, 2) / "console.log").write_text("as far as it came")
    with SoakJournal(soak, PLAN) as journal:
        assert [item.outcome for item in journal.cycles] == ["ok", "interrupted"]
        assert journal.begin()[0] == 3
    assert [item.outcome for item in read_soak(soak)[1]] == ["ok", "interrupted"]
    assert (cycle_directory(soak, 2) / "console.log").read_text() == "as far as it came"


def test_a_cycle_that_had_crashed_before_its_host_was_killed_has_crashed(tmp_path: Path) -> None:
    soak = soaked(tmp_path / "s", cycle(1))
    with SoakJournal(soak, PLAN) as journal:
        journal.begin()
        output = "[    3.0] Kernel panic - not syncing: Attempted to kill init!\n"
        (cycle_directory(soak, 2) / "console.log").write_text(output)
    with SoakJournal(soak, PLAN) as journal:
        assert [item.outcome for item in journal.cycles] == ["ok", "crashed"]
        assert journal.cycles[1].why == "Kernel panic - not syncing: Attempted to kill init!"


def test_a_board_that_a_killed_host_left_on_in_the_last_cycle_is_switched_off(
    tmp_path: Path,
) -> None:
    board = PaperBoard(tmp_path)
    board.power.state = True
    with SoakJournal(tmp_path / "s", PLAN) as journal:
        journal.record_initial_power(False)
        _, place = journal.begin()
        (place / "console.log").write_bytes(PANIC)
    assert soak(board, PLAN, Goal(cycles=1), tmp_path / "s", Watcher()) == "done"
    assert [item.outcome for item in read_soak(tmp_path / "s")[1]] == ["crashed"]
    assert not board.power.state
    # A soak that ended by itself touches no board.
    board.power.state = True
    assert soak(board, PLAN, Goal(cycles=1), tmp_path / "s", Watcher()) == "done"
    assert board.power.state


@pytest.mark.parametrize("bytes_left", [1, 20, -1])
def test_a_line_that_was_torn_is_a_cycle_that_was_interrupted(
    tmp_path: Path, bytes_left: int
) -> None:
    soak = soaked(tmp_path / "s", cycle(1), cycle(2))
    journal = soak / JOURNAL
    first, second = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(first + second[:bytes_left])
    # Whoever only looks sees what is whole, and writes nothing.
    assert [item.cycle for item in read_soak(soak)[1]] == [1]
    with SoakJournal(soak, PLAN) as opened:
        assert [item.outcome for item in opened.cycles] == ["ok", "interrupted"]
        opened.append(cycle(3, session=opened.session))
    assert [item.cycle for item in read_soak(soak)[1]] == [1, 2, 3]


def test_a_damaged_line_is_said_and_nothing_is_written_behind_it(tmp_path: Path) -> None:
    soak = soaked(tmp_path / "s", cycle(1), cycle(2))
    journal = soak / JOURNAL
    damaged = journal.read_bytes().replace(b'"ok"', b'"0k"', 1)
    journal.write_bytes(damaged)
    with pytest.raises(RecordingError, match="damaged in line 1"):
        SoakJournal(soak, PLAN)
    assert journal.read_bytes() == damaged


@pytest.mark.parametrize(
    ("other", "output"),
    [
        ({"board": "board8"}, "a soak with board board7, not board8"),
        ({"run_for_ns": 5 * 10**9}, "with duration 1 s, not 5 s"),
        ({"loads": []}, "with loads net, not none"),
    ],
)
def test_another_soak_is_not_mixed_in(tmp_path: Path, other: dict[str, Any], output: str) -> None:
    soak = soaked(tmp_path / "s", cycle(1))
    plan = {"run_for_ns": 10**9, "loads": [LoadPlan("net", 2)], **other}
    with pytest.raises(RequestError, match=output):
        SoakJournal(soak, wakeup_soak(**plan))


def test_a_soak_of_another_workload_is_not_mixed_in(tmp_path: Path) -> None:
    soak = soaked(tmp_path / "s", cycle(1))
    run = RunPlan(workload=CommandTable(command="make").workload())
    with pytest.raises(RequestError, match="a soak with workload wakeup, not cmd"):
        SoakJournal(soak, msgspec.structs.replace(PLAN, run=run))


def test_a_soak_of_a_former_schema_goes_on(tmp_path: Path) -> None:
    """As whylate wrote soak.json when soaks measured wakeups alone."""
    soak = soaked(tmp_path / "s", cycle(1))
    former = {
        "format": "whylate-soak", "schema_version": 1, "board": "board7",
        "run_for_ns": 1_000_000_000, "interval_ns": 1_000_000,
        "loads": [{"kind": "net", "count": 2, "command": None}], "smp": None, "kernel_args": [],
        "keep": "all", "boot_timeout_s": 180.0, "off_s": 0.0,
    }  # fmt: skip
    (soak / "soak.json").write_text(json.dumps(former))
    assert read_soak(soak)[0] == PLAN
    with SoakJournal(soak, PLAN) as journal:
        assert [item.outcome for item in journal.cycles] == ["ok"]


def test_a_long_line_is_none_that_was_torn(tmp_path: Path) -> None:
    long = msgspec.structs.replace(cycle(1), why="x" * 200_000)
    soak = soaked(tmp_path / "s", long, cycle(2))
    assert read_soak(soak)[1] == [long, cycle(2)]
    # What cannot be read again is not written, and what others wrote is not cut off.
    too_long = msgspec.structs.replace(cycle(3), why="x" * MAX_LINE)
    with SoakJournal(soak, PLAN) as journal, pytest.raises(RecordingError, match="is not written"):
        journal.append(too_long)
    written = (soak / JOURNAL).read_bytes() + msgspec.json.encode(too_long) + b"\n"
    (soak / JOURNAL).write_bytes(written)
    with pytest.raises(RecordingError, match="damaged in line 3: it is longer than"):
        SoakJournal(soak, PLAN)
    assert (soak / JOURNAL).read_bytes() == written


def test_a_directory_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(RecordingError, match="is no soak"):
        SoakJournal(tmp_path, PLAN)
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine"]


def test_two_cannot_carry_out_the_same_soak(tmp_path: Path) -> None:
    soak = soaked(tmp_path / "s", cycle(1))
    with SoakJournal(soak, PLAN), pytest.raises(RecordingError, match="still runs"):
        SoakJournal(soak, PLAN)
    with SoakJournal(soak, PLAN):
        pass


def test_how_the_board_was_found_is_what_the_first_start_saw(tmp_path: Path) -> None:
    with SoakJournal(tmp_path / "s", PLAN) as journal:
        assert journal.record_initial_power(True) is True
    with SoakJournal(tmp_path / "s", PLAN) as journal:
        assert journal.record_initial_power(False) is True
