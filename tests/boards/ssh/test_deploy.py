"""Bringing the probe to a board that lies, or that does not listen."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from whylate.boards import deploy
from whylate.boards.board import Finished, notify_nobody
from whylate.boards.deploy import PLACES, Deployment
from whylate.boards.errors import BoardError
from whylate.boards.streams import process
from whylate.boards.streams.process import ProcessStream


class Liar:
    """A board that answers every look with the same words, and starts another program."""

    name = "liar"

    def __init__(self, words: Sequence[str], instead: Sequence[str] = ("true",)) -> None:
        self._output = "".join(f"whylate: {word}\n" for word in (*words, "end")).encode()
        self._instead = instead
        self.looked = 0

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None:
        """Take it and forget it."""

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        del argv, data, timeout_s
        self.looked += 1
        assert self.looked < 100, "it is asked for ever"
        return Finished(0, self._output)

    def stream(self, argv: Sequence[str]) -> ProcessStream:
        del argv
        return ProcessStream(self._instead)


def failing(board: Liar) -> str:
    with pytest.raises(BoardError) as failed:
        Deployment(board).start(notify_nobody)
    return str(failed.value)


def test_a_board_that_names_a_place_again_and_again_is_given_up() -> None:
    board = Liar(["machine x86_64", "user 0", "place /run/x"])
    assert "the probe cannot run from any place" in failing(board)
    assert board.looked <= len(PLACES) + 1


def test_no_more_places_are_refused_than_were_asked_of() -> None:
    board = Liar(["machine x86_64", "user 0", *["not /run is full"] * 10_000])
    assert failing(board).count("/run is full") == len(PLACES)


@pytest.mark.parametrize("tool", ["python3", "perl"])
def test_a_board_that_does_not_take_the_probe_is_given_up_in_time(
    tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deploy, "START_S", 0.5)
    monkeypatch.setattr(deploy, "SLOWEST_BYTES_PER_S", 1 << 30)
    monkeypatch.setattr(process, "LEAVE_S", 0.1)
    board = Liar(["machine x86_64", "user 1000", f"tool {tool}"], ["sleep", "100"])
    began = time.monotonic()
    assert f"memory, by {tool}: it read no more of its input" in failing(board)
    assert time.monotonic() - began < 10
