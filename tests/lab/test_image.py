"""The image of a virtual board: what an emulated CPU need not do at each boot is not in it."""

from __future__ import annotations

import re

import pytest

from own_boards import own_boards
from whylate.boards.board import notify_nobody
from whylate.boards.qemu.board import QemuBoard
from whylate.boards.ready import ready
from whylate.lab.description import virtual_board
from whylate.lab.image import build, is_fetched

BOARD = "virt-arm64"


def content(packed: bytes, path: str) -> bytes:
    """Return the content of a file in an archive."""
    name = path.encode() + b"\0"
    at = packed.index(name) - 110
    size, length = int(packed[at + 54 : at + 62], 16), int(packed[at + 94 : at + 102], 16)
    begin = at + (110 + length + 3) // 4 * 4
    return packed[begin : begin + size]


def test_an_image_is_not_packed_and_has_the_modules_of_a_network_apart() -> None:
    board = virtual_board(BOARD)
    if not is_fetched(board):
        pytest.skip(f"the image of {BOARD} is not here: make lab")
    image = build(board, notify_nobody).initrd.read_bytes()
    assert image.startswith(b"070701")
    assert content(image, "lib/modules/order") == b"virtio_mmio\nvirtio_console\n"
    assert content(image, "lib/modules/network") == b"failover\nnet_failover\nvirtio_net\n"


@pytest.mark.qemu
@pytest.mark.parametrize("has_network", [False, True])
def test_the_modules_of_a_network_are_loaded_where_there_is_one(has_network: bool) -> None:
    with own_boards(BOARD):
        board = QemuBoard(virtual_board(BOARD))
        if has_network:
            board.use_network()
        with ready(board, notify_nobody):
            modules = board.run(["lsmod"]).output.decode()
            mounted = board.run(["mount"]).output.decode()
            hostname = board.run(["hostname"]).output.decode()
    assert bool(re.search("^virtio_net ", modules, re.MULTILINE)) is has_network
    assert re.search("^virtio_console ", modules, re.MULTILINE)
    assert {"/proc", "/sys", "/dev", "/run", "/sys/kernel/tracing"} <= set(mounted.split())
    assert hostname == f"{BOARD}\n"
