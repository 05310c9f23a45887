"""The stream over a virtual board's serial port, to whoever is at its other end."""

from __future__ import annotations

import re
import select
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from own_boards import own_boards
from whylate.boards.board import notify_nobody
from whylate.boards.qemu.board import QemuBoard
from whylate.boards.qemu.port import NUDGE_S, SerialPortStream
from whylate.boards.ready import ready
from whylate.lab.description import virtual_board
from whylate.probe.client import Client
from whylate.wire.frame import FrameDecoder, encode_frame
from whylate.wire.messages import Note

PATIENCE_S = 30.0
SENT = 2000
#: As long as a host may wait for its disk in the middle of a run.
HESITATION_S = 8.0


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[tuple[SerialPortStream, socket.socket]]:
    """Return a stream whose port is nudged, and the board's end of it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "port"))
        listener.listen()
        stream = SerialPortStream(tmp_path / "port")
        far, _ = listener.accept()
    with far, closing(stream):
        stream.nudge()
        yield stream, far


def says_anything(far: socket.socket, seconds: float) -> bool:
    return bool(select.select([far], [], [], seconds)[0])


def test_a_port_is_nudged_once_somebody_spoke_and_until_it_is_closed(
    ends: tuple[SerialPortStream, socket.socket],
) -> None:
    stream, far = ends
    assert not says_anything(far, 10 * NUDGE_S)
    stream.write(b"\0word\0")
    got = b""
    while len(got) < 10 and says_anything(far, PATIENCE_S):
        got += far.recv(100)
    assert got.startswith(b"\0word\0\0\0")
    assert got.strip(b"\0") == b"word"
    stream.close()
    while data := far.recv(100):
        assert data.strip(b"\0") == b""


def test_a_nudge_comes_between_frames_and_is_counted_by_nobody(
    ends: tuple[SerialPortStream, socket.socket],
) -> None:
    stream, far = ends
    decoder, heard = FrameDecoder(), []
    for number in range(SENT):
        stream.write(encode_frame(Note.KIND, number, Note("n", "x" * number).pack()))
        if number % 100 == 0:
            time.sleep(2 * NUDGE_S)
        if says_anything(far, 0):
            heard += decoder.feed(far.recv(1 << 20))
    while len(heard) < SENT and says_anything(far, PATIENCE_S):
        heard += decoder.feed(far.recv(1 << 20))
    assert [frame.number for frame in heard] == list(range(SENT))
    assert decoder.counts.good == SENT
    assert decoder.counts.damaged == decoder.counts.oversized == 0


def test_nudging_a_board_that_takes_nothing_holds_nobody_up(
    ends: tuple[SerialPortStream, socket.socket],
) -> None:
    stream, far = ends
    stream.write(b"\0")
    with stream._socket.dup() as full:
        full.setblocking(False)
        with suppress(BlockingIOError):
            while full.send(b"\0" * 4096):
                pass
    time.sleep(5 * NUDGE_S)
    begun = time.monotonic()
    stream.close()
    assert time.monotonic() - begun < PATIENCE_S / 3
    assert far.recv(1)


def test_nudges_do_not_pile_up_where_none_is_taken(
    ends: tuple[SerialPortStream, socket.socket],
) -> None:
    stream, far = ends
    stream.write(b"x")
    time.sleep(10 * NUDGE_S)
    assert far.recv(100) == b"x", "none behind what is on its way"
    assert says_anything(far, PATIENCE_S), "and then again"
    stream.close()
    assert far.recv(100) == b"\0"


def test_a_board_is_listened_to_while_nobody_reads(
    ends: tuple[SerialPortStream, socket.socket],
) -> None:
    """QEMU writes byte by byte, and holds its board up where one is not taken."""
    stream, far = ends
    far.settimeout(PATIENCE_S)
    text = bytes(range(256)) * 8
    for at in range(len(text)):
        far.send(text[at : at + 1])
    got = b""
    while len(got) < len(text) and select.select([stream.fileno()], [], [], PATIENCE_S)[0]:
        got += stream.read(1000)
    assert got == text
    far.close()
    assert stream.read(1) == b"", "and its end is heard"


def test_a_board_that_says_more_than_anybody_reads_is_left_all_the_same(
    ends: tuple[SerialPortStream, socket.socket],
) -> None:
    stream, far = ends
    far.settimeout(0.5)
    with suppress(TimeoutError):
        for _ in range(100):
            far.sendall(bytes(1 << 20))
    begun = time.monotonic()
    stream.close()
    assert time.monotonic() - begun < PATIENCE_S / 3


@pytest.mark.qemu
def test_the_port_of_sabrelite_gets_bytes_while_its_host_is_silent_and_its_probe_stays() -> None:
    with (
        own_boards("sabrelite"),
        ready(QemuBoard(virtual_board("sabrelite")), notify_nobody) as board,
    ):

        def received() -> int:
            text = board.run(["cat", "/proc/tty/driver/IMX-uart"]).output.decode()
            received = re.search(r"^0:.* rx:([0-9]+)", text, re.MULTILINE)
            assert received is not None, text
            return int(received[1])

        started = board.start_probe(notify_nobody)
        with closing(started.stream) as stream:
            client = Client(stream)
            client.hello()
            before = received()
            until = time.monotonic() + PATIENCE_S
            while received() < before + 20:
                assert time.monotonic() < until
            client.keepalive(started.keepalive_s)
            time.sleep(HESITATION_S)
            assert client.hello().version
        assert "noirqdebug" in board.run(["cat", "/proc/cmdline"]).output.decode().split()
