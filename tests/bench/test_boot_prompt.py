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
from whylate.study.restore.boots import Boots

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


TFTP = """{method: u-boot, kernel: Image, tftp: %s, commands: ['setenv bootargs {words}',
 'tftpboot ${kernel_addr_r} {kernel}', 'booti ${kernel_addr_r} - ${fdtcontroladdr}']}"""


def tftp_bench(bench: Bench) -> Path:
    """Have the board load its kernel by TFTP, from a directory that has its own."""
    directory = bench.directory / "tftp"
    directory.mkdir()
    (directory / "Image").write_bytes(b"its own kernel")
    bench.boot = " ".join((TFTP % directory).split())
    return directory


def names_in(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def test_a_kernel_is_loaded_by_tftp_and_its_file_is_removed_also_after_a_kill(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tftp_bench(bench)
    kernel = bench.directory / "Image"
    kernel.write_bytes(b"another kernel")
    plan = boot_plan(
        [Variant("own", {"cmdline:nfsroot": "10.0.0.1:/srv/own"}),
         Variant("new", {"cmdline:nfsroot": "10.0.0.1:/srv/new", "kernel": str(kernel)})]
    )  # fmt: skip
    with monkeypatch.context() as patch:
        # As where the host was killed before the end.
        patch.setattr(Boots, "put_back", lambda *_, **__: "")
        result, output = bench.study(plan)
    assert not result.lost, output
    assert "nfsroot=10.0.0.1:/srv/new" in bench.words("new")
    assert "nfsroot=10.0.0.1:/srv/own" in bench.words("own")
    console = (bench.directory / "study/runs/board7/idle/new/0001/console.log").read_text()
    (staged,) = [name for name in names_in(directory) if name.endswith("-kernel")]
    assert f"Loading {staged}" in console
    assert (directory / staged).read_bytes() == b"another kernel"
    assert staged.startswith("whylate/board7/")
    # The same command puts everything back, and makes no further run.
    bench.study(plan)
    assert names_in(directory) == ["Image"]
    assert not (bench.directory / "study/boots").exists()


def test_a_file_on_the_board_is_none_that_is_loaded_by_tftp(bench: Bench) -> None:
    tftp_bench(bench)
    plan = boot_plan([Variant("own"), Variant("new", {"kernel": "board:/boot/vmlinuz"})])
    with pytest.raises(RequestError, match="board7 loads it by TFTP: name a file of this machine"):
        bench.study(plan)
