"""Images and command lines in one plan: the card is written, and then the run's entry is booted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench_boot import LoaderBoard, boot_plan, carry_out
from bench_card import MIB, Card, can_loop, card
from bench_files import POWER, SERIAL, environment, power_port, serial_port, target
from bench_line import SerialLine
from bench_supplies import Strip, strip

from whylate.boards.board import Board
from whylate.boards.labgrid.board import BenchOptions
from whylate.boards.labgrid.open import labgrid_board
from whylate.recording.reader import read_manifest
from whylate.study.model import Variant

pytestmark = [
    pytest.mark.skipif(not can_loop(), reason="needs root and loop devices"),
    pytest.mark.realtime,
    pytest.mark.usefixtures("boards_that_die_at_once"),
]


class CardBoard(LoaderBoard):
    """A board whose /boot is what its card has: the first line is the own command line."""

    def __init__(self, directory: Path, line: SerialLine, medium: Card) -> None:
        super().__init__(directory, line)
        self._medium = medium
        self._last = b""

    def power_on(self) -> None:
        if self.running:
            return
        content = self._medium.backing.read_bytes()[:64].split(b"\n")[0]
        if content != self._last:
            # Another image has nothing of what was on the card before.
            self._last = content
            shutil.rmtree(self.boot / "whylate", ignore_errors=True)
            self.conf.write_text(
                f"DEFAULT a\nLABEL a\n  LINUX /vmlinuz\n  APPEND {content.decode()}\n"
            )
        super().power_on()


@pytest.fixture
def bench(tmp_path: Path, line: SerialLine) -> Iterator[tuple[CardBoard, Strip, Card]]:
    with card(tmp_path, 2 * MIB) as medium:
        board = CardBoard(tmp_path, line, medium)
        with strip(board) as power:
            yield board, power, medium


def test_each_run_has_its_image_and_its_command_line(
    tmp_path: Path, bench: tuple[CardBoard, Strip, Card], line: SerialLine
) -> None:
    board, power, medium = bench
    for name in ("old", "new"):
        image = tmp_path / f"{name}-board7.img"
        image.write_bytes(f"root={name}\n".encode().ljust(4096, b"."))
    resources = [power_port(power), serial_port(line.path), medium.resource()]
    drivers = [POWER, SERIAL, "USBSDMuxDriver: {}", "USBStorageDriver: {}"]
    body = target(resources=resources, drivers=drivers)
    boot = "options: {whylate: {boot: {method: u-boot, device: 'mmc 0:1'}}}"
    path = environment(tmp_path, board7=f"{body}\n{boot}")

    def open_board(name: str, words: tuple[str, ...]) -> Board:
        del words
        return labgrid_board(name, path, options=BenchOptions(boot_s=20.0))

    variants = [
        Variant(f"{image}{tick}", {
            "image": f"{tmp_path}/{image}-{{board}}.img", "cmdline:skew_tick": str(tick)
        })
        for image in ("old", "new")
        for tick in (0, 1)
    ]  # fmt: skip
    result, output = carry_out(tmp_path / "study", boot_plan(variants), open_board)
    assert not result.lost, output
    for variant in variants:
        manifest = read_manifest(tmp_path / f"study/runs/board7/idle/{variant.name}/0001")
        facts = {fact.name: fact.value for fact in manifest.facts}
        words = facts["kernel_command_line"]
        assert isinstance(words, list)
        assert words[:2] == [f"root={variant.name[:-1]}", f"skew_tick={variant.name[-1]}"]
    # The card has the first image, and nothing of the runs.
    assert medium.backing.read_bytes()[:9] == b"root=old\n"
    assert board.files() == ["extlinux", "extlinux/extlinux.conf", "vmlinuz"]
