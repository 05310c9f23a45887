"""Images on cards: labgrid's mux driver, a loop device as the card, and all that goes wrong."""

from __future__ import annotations

import gzip
import lzma
import random
import subprocess
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bench_boards import shell_board
from bench_card import MIB, Card, can_loop, card
from bench_files import POWER, SERIAL, environment, power_port, serial_port, target
from bench_line import SerialLine
from bench_supplies import Strip, strip

from small_disk import small_disk
from whylate.boards import flash as flashing
from whylate.boards.board import notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.flash import flash
from whylate.boards.labgrid import supply
from whylate.boards.labgrid.board import BenchOptions, LabgridBoard
from whylate.boards.labgrid.open import labgrid_board
from whylate.boards.notes import note_image, read_image, state_of

pytestmark = pytest.mark.skipif(not can_loop(), reason="needs root and loop devices")

SIZE = 9 * MIB + 12345
CARD = 64 * MIB


@pytest.fixture(scope="module")
def content() -> bytes:
    return random.Random(4).randbytes(SIZE)


@dataclass
class Bench:
    """A board that is held, with a card in its mux, and what was told."""

    board: LabgridBoard
    power: Strip
    card: Card
    shown: list[str] = field(default_factory=list)

    def flash(self, image: Path) -> None:
        flash(self.board, self.board.card, image, self.shown.append)


def is_blank(medium: Card) -> bool:
    data = medium.backing.read_bytes()
    return data.count(0) == len(data)


@pytest.fixture
def medium(tmp_path: Path) -> Iterator[Card]:
    with card(tmp_path, CARD) as made:
        yield made


@pytest.fixture
def bench(
    tmp_path: Path, line: SerialLine, medium: Card, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bench]:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    monkeypatch.setattr(flashing, "CARD_S", 2.0)
    monkeypatch.setattr(supply, "ECHO_S", 0.2)
    with strip(shell_board(line)) as power:
        path = environment(
            tmp_path,
            board7=target(
                resources=[power_port(power), serial_port(line.path), medium.resource()],
                drivers=[POWER, SERIAL, "USBSDMuxDriver: {}", "USBStorageDriver: {}"],
            ),
        )
        board = labgrid_board("board7", path, options=BenchOptions(boot_s=20.0))
        made = Bench(board, power, medium)
        board.hold(made.shown.append)
        try:
            yield made
        finally:
            board.close()


@pytest.mark.parametrize("packed", ["raw", "xz", "gz"])
def test_an_image_is_on_the_card_to_the_last_byte_and_the_board_boots(
    bench: Bench, tmp_path: Path, content: bytes, packed: str
) -> None:
    image = tmp_path / f"image.{packed}"
    pack = {"raw": bytes, "xz": lambda data: lzma.compress(data, preset=0), "gz": gzip.compress}
    image.write_bytes(pack[packed](content))
    bench.flash(image)
    assert bench.card.backing.read_bytes()[:SIZE] == content
    noted = read_image(state_of(bench.board))
    assert noted is not None
    assert noted.image == image.name
    assert bench.card.turns[-1] == "dut"
    assert bench.board.run(["echo", "up"]).output == b"up\n"


def test_the_card_is_only_ours_while_the_board_is_off(
    bench: Bench, tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "image").write_bytes(content)
    bench.board.boot(bench.shown.append)
    at_the_turn: list[bool] = []
    mux = bench.board.card
    to_host = mux.to_host

    def watched() -> Path:
        at_the_turn.append(bench.power.outlets[1].load.running)  # type: ignore[attr-defined]
        return to_host()

    monkeypatch.setattr(mux, "to_host", watched)
    flash(bench.board, mux, tmp_path / "image", bench.shown.append)
    assert at_the_turn
    assert not any(at_the_turn)
    assert bench.power.outlets[1].state


def test_a_board_that_was_on_is_on_again_after_it_was_flashed_and_left(
    bench: Bench, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "image").write_bytes(content)
    bench.power.outlets[1].switch(True)
    bench.flash(tmp_path / "image")
    bench.board.close()
    assert [on for _, on in bench.power.outlets[1].history] == [True, False, True]


def test_a_card_that_reads_back_something_else_is_named_with_the_offset(
    bench: Bench, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "image").write_bytes(content)
    where = 7 * MIB + 4321
    note_image(bench.board, Path("the-image-before.xz"))

    def worn(text: str) -> None:
        bench.shown.append(text)
        if text.startswith("reading the card back: 4 of"):
            with bench.card.backing.open("r+b") as file:
                file.seek(where)
                file.write(bytes([content[where] ^ 0x40]))

    was, now = content[where], content[where] ^ 0x40
    with pytest.raises(
        BoardError, match=rf"at offset {where} \(of {SIZE}\) it reads back 0x{now:02x} instead of "
        rf"0x{was:02x}"
    ):  # fmt: skip
        flash(bench.board, bench.board.card, tmp_path / "image", worn)
    assert read_image(state_of(bench.board)) is None, "the former image is not on it any more"
    assert bench.card.turns[-1] == "dut"
    assert not bench.power.outlets[1].state


def test_a_card_smaller_than_the_image_is_refused_before_a_byte_is_written(
    bench: Bench, tmp_path: Path
) -> None:
    image = tmp_path / "image.xz"
    image.write_bytes(lzma.compress(b"x" * (CARD + 1), preset=0))
    with pytest.raises(BoardError, match=rf"holds {CARD} bytes, the image has {CARD + 1}"):
        bench.flash(image)
    assert is_blank(bench.card)


def test_a_damaged_archive_is_found_before_the_card_is_touched(
    bench: Bench, tmp_path: Path, content: bytes
) -> None:
    packed = bytearray(lzma.compress(content, preset=0))
    packed[len(packed) // 2] ^= 1
    (tmp_path / "image.xz").write_bytes(packed)
    with pytest.raises(BoardError, match=r"image.xz is damaged"):
        bench.flash(tmp_path / "image.xz")
    assert bench.card.turns == ["dut"]


def test_a_card_that_is_mounted_is_refused(bench: Bench, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "image").write_bytes(content)
    subprocess.run(["mkfs.ext4", "-q", "-F", bench.card.backing], check=True)
    before = bench.card.backing.read_bytes()
    here = tmp_path / "mounted"
    here.mkdir()

    def automount(text: str) -> None:
        bench.shown.append(text)

    original = flashing._settle

    def mounted() -> None:
        original()
        subprocess.run(["mount", "-o", "ro,noload", bench.card.device, here], check=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flashing, "_settle", mounted)
        try:
            with pytest.raises(BoardError, match=rf"is in use: it is mounted on {here}"):
                flash(bench.board, bench.board.card, tmp_path / "image", automount)
        finally:
            subprocess.run(["umount", here], check=False)
    time.sleep(0.1)
    assert bench.card.backing.read_bytes() == before


def test_a_device_that_is_not_behind_the_mux_is_refused(
    bench: Bench, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "image").write_bytes(content)
    # The mux turns, and the "card" stays: some other disk of this host.
    bench.card.tool.write_text('#!/bin/sh\necho "$2" >>"$1"\n')
    subprocess.run(["losetup", bench.card.device, bench.card.backing], check=True)
    with pytest.raises(BoardError, match=r"keeps its medium .* nothing was written"):
        bench.flash(tmp_path / "image")
    assert is_blank(bench.card)


def test_a_mux_without_a_card_is_said_so(bench: Bench, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "image").write_bytes(content)
    bench.card.tool.write_text('#!/bin/sh\necho "$2" >>"$1"\n')
    with pytest.raises(BoardError, match="there is no card in /dev/loop"):
        bench.flash(tmp_path / "image")


def test_what_is_not_a_block_device_is_never_written(
    bench: Bench, tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "image").write_bytes(content)
    (tmp_path / "precious").write_bytes(b"precious")
    mux = bench.board.card
    monkeypatch.setattr(mux, "to_host", lambda: tmp_path / "precious")
    with pytest.raises(BoardError, match="is not a block device"):
        flash(bench.board, mux, tmp_path / "image", bench.shown.append)
    assert (tmp_path / "precious").read_bytes() == b"precious"


def test_an_image_that_is_not_there_leaves_the_board_on(bench: Bench, tmp_path: Path) -> None:
    bench.board.boot(bench.shown.append)
    with pytest.raises(BoardError, match="absent does not exist"):
        bench.flash(tmp_path / "absent")
    assert bench.power.outlets[1].state


def test_a_card_that_fails_while_it_is_written_is_said_to_be_unusable(
    tmp_path: Path, line: SerialLine, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    (tmp_path / "image").write_bytes(content)
    with (
        small_disk(tmp_path / "small", 4 * MIB) as small,
        card(tmp_path, 16 * MIB, small / "card") as medium,
        strip(shell_board(line)) as power,
    ):
        path = environment(
            tmp_path,
            board7=target(
                resources=[power_port(power), serial_port(line.path), medium.resource()],
                drivers=[POWER, SERIAL, "USBSDMuxDriver: {}"],
            ),
        )
        board = labgrid_board("board7", path)
        board.hold(notify_nobody)
        try:
            with pytest.raises(BoardError, match=r"could not be written .* not usable as it is"):
                flash(board, board.card, tmp_path / "image", notify_nobody)
        finally:
            board.close()


def test_a_large_image_is_written_in_bounded_memory(bench: Bench, tmp_path: Path) -> None:
    image = tmp_path / "image.xz"
    image.write_bytes(lzma.compress(bytes(CARD), preset=0))
    tracemalloc.start()
    try:
        bench.flash(image)
        assert tracemalloc.get_traced_memory()[1] < CARD // 2
    finally:
        tracemalloc.stop()
