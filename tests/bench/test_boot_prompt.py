"""Boot entries of a study's boards at a boot loader's prompt: set, read back, put back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bench_boot import LoaderBoard, boot_environment, boot_plan, carry_out
from bench_line import SerialLine
from bench_supplies import Strip, strip

from whylate.boards.board import Board
from whylate.boards.labgrid.board import BenchOptions
from whylate.boards.labgrid.open import labgrid_board
from whylate.recording.reader import read_manifest
from whylate.run.errors import RequestError
from whylate.study import carry_out as carrying_out
from whylate.study.carry_out import Result
from whylate.study.model import StudyPlan, Variant

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="its boards need PID namespaces: root"),
    pytest.mark.realtime,
    pytest.mark.usefixtures("boards_that_die_at_once"),
]
BOOT = "{method: u-boot, device: 'mmc 0:1'}"
OWN = ["console=ttyS0", "quiet"]


@dataclass
class Bench:
    """A board with a boot loader."""

    directory: Path
    board: LoaderBoard
    power: Strip
    line: SerialLine
    boot: str = BOOT

    def open(self, name: str, words: tuple[str, ...] = ()) -> Board:
        del words
        path = boot_environment(self.directory, self.power, self.line, self.boot)
        return labgrid_board(name, path, options=BenchOptions(boot_s=4.0))

    def study(self, plan: StudyPlan) -> tuple[Result, list[str]]:
        return carry_out(self.directory / "study", plan, self.open)

    def words(self, variant: str, number: int = 1) -> list[str]:
        """The command line that a run of a variant had."""
        path = self.directory / f"study/runs/board7/idle/{variant}/{number:04d}"
        facts = {fact.name: fact.value for fact in read_manifest(path).facts}
        words = facts["kernel_command_line"]
        assert isinstance(words, list)
        return [word for word in words if not word.startswith("whylate.entry=")]


@pytest.fixture
def bench(tmp_path: Path, line: SerialLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(carrying_out, "ATTEMPTS", 1)
    board = LoaderBoard(tmp_path, line)
    with strip(board) as power:
        yield Bench(tmp_path, board, power, line)


def test_each_run_has_its_command_line_and_the_board_is_left_as_it_was(bench: Bench) -> None:
    before = bench.board.files(), bench.board.conf.read_bytes()
    other = {"cmdline:skew_tick": "1", "cmdline:quiet": "no"}
    result, output = bench.study(boot_plan([Variant("own"), Variant("other", other)]))
    assert not result.lost, output
    assert bench.words("own") == OWN
    assert bench.words("other") == ["console=ttyS0", "skew_tick=1"]
    assert (bench.board.files(), bench.board.conf.read_bytes()) == before
    assert not (bench.directory / "study/boots").exists()


def test_a_board_that_hangs_with_a_command_line_boots_its_own_again(bench: Bench) -> None:
    before = bench.board.files()
    plan = boot_plan([Variant("own"), Variant("stuck", {"cmdline:hang": "yes"})])
    result, _ = bench.study(plan)
    assert "did not come up within 4 s" in result.lost["board7"]
    assert "it has its own entry again" in result.lost["board7"]
    assert bench.board.files() == before
    assert not bench.power.outlets[1].state


def test_an_entry_that_the_boot_loader_refuses_fails_the_run_with_what_it_printed(
    bench: Bench,
) -> None:
    plan = boot_plan([Variant("own"), Variant("new", {"cmdline:refused": "yes"})])
    result, _ = bench.study(plan)
    assert "U-Boot: sysboot mmc 0:1 any ${scriptaddr} /whylate/" in result.lost["board7"]
    assert "Error reading" in result.lost["board7"]


def test_a_board_with_no_boot_method_is_refused_with_what_to_do(bench: Bench) -> None:
    bench.boot = "{method: u-boot}"
    plan = boot_plan([Variant("own"), Variant("other", {"cmdline:skew_tick": "1"})])
    with pytest.raises(RequestError, match="needs `device`, U-Boot's name of the partition"):
        bench.study(plan)
