"""A stream that ends with a reason when its board is lost."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time

import pytest

from whylate.boards.labgrid.watched import WatchedStream


class Pair:
    """One end of a socket pair as a stream, the other one in `far`."""

    def __init__(self) -> None:
        self.near, self.far = socket.socketpair()
        self.closed = False

    def fileno(self) -> int:
        return self.near.fileno()

    def read(self, size: int) -> bytes:
        return self.near.recv(size)

    def write(self, data: bytes) -> None:
        self.near.sendall(data)

    def close(self) -> None:
        self.closed = True
        self.near.close()
        self.far.close()


def rest_of(stream: WatchedStream, within_s: float = 5.0) -> bytes:
    """Return all bytes up to the end, which must come in time."""
    data = b""
    deadline = time.monotonic() + within_s
    while select.select([stream.fileno()], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = stream.read(1 << 16)
        if not piece:
            return data
        data += piece
    pytest.fail("the stream does not end")


def test_all_bytes_pass_both_ways() -> None:
    pair = Pair()
    stream = WatchedStream(pair, lambda: None)
    sent = os.urandom(300_000)
    pair.far.setblocking(True)
    stream.write(b"to the board")
    assert pair.far.recv(100) == b"to the board"
    pair.far.sendall(sent[:1000])
    assert stream.read(1000) == sent[:1000]
    pair.far.shutdown(socket.SHUT_WR)
    assert rest_of(stream) == b""
    assert stream.last_words() == b""
    stream.close()
    assert pair.closed


def test_a_lost_place_ends_the_stream_although_its_board_still_speaks() -> None:
    pair = Pair()
    lost: list[str] = []
    stream = WatchedStream(pair, lambda: lost[0] if lost else None)
    pair.far.sendall(b"still here")
    assert stream.read(100) == b"still here"
    lost.append("the coordinator went away")
    pair.far.sendall(b"and still")
    assert rest_of(stream) in (b"", b"and still")
    assert stream.last_words() == b"the coordinator went away"
    with pytest.raises(BrokenPipeError, match="the coordinator went away"):
        stream.write(b"hello?")
    stream.close()


def test_a_silent_board_ends_the_stream_and_is_hung_up_on_before_it_is_left() -> None:
    pair = Pair()
    order: list[str] = []
    stream = WatchedStream(pair, lambda: None, 0.5, lambda: order.append(f"up {pair.closed}"))
    assert rest_of(stream) == b""
    assert stream.last_words().startswith(b"the board was silent for 0.5 s")
    stream.close()
    assert order == ["up False"]
    assert pair.closed


def test_a_board_that_speaks_now_and_then_is_not_taken_for_dead() -> None:
    pair = Pair()
    stream = WatchedStream(pair, lambda: None, 1.0)
    for _ in range(4):
        time.sleep(0.4)
        pair.far.sendall(b".")
    got = b""
    while len(got) < 4:
        piece = stream.read(10)
        assert piece
        got += piece
    stream.close()


def test_closing_does_not_wait_for_a_reader() -> None:
    pair = Pair()
    stream = WatchedStream(pair, lambda: None)
    pair.far.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while pair.far.send(b"x" * 65536):
            time.sleep(0.005)
    began = time.monotonic()
    stream.close()
    assert time.monotonic() - began < 5.0


def test_a_stream_that_somebody_closes_ends_without_an_error_in_its_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors: list[object] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    pair = Pair()
    stream = WatchedStream(pair, lambda: None)
    # As ConsoleStream has it once it was closed.
    monkeypatch.setattr(pair, "fileno", lambda: -1)
    assert rest_of(stream) == b""
    stream.close()
    assert errors == []
