"""A probe that is told to expect a word from its host ends when none comes."""

from __future__ import annotations

import select
import time
from contextlib import closing

from whylate.boards.board import notify_nobody
from whylate.boards.local import LocalBoard
from whylate.probe.client import Client, Stream


def ended(stream: Stream, seconds: float) -> bool:
    """Whether the probe's output ends within some seconds in which nothing is said to it."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if select.select([stream.fileno()], [], [], left)[0] and not stream.read(4096):
            return True
    return False


def test_a_silent_host_counts_as_gone_only_after_a_keepalive() -> None:
    with closing(LocalBoard().start_probe(notify_nobody).stream) as stream:
        client = Client(stream)
        client.hello()
        assert not ended(stream, 1.5), "nothing was promised"
        client.keepalive(0.5)
        for _ in range(15):
            client.pump(0.1)
        assert not client.ended, "pump() speaks in time"
        assert ended(stream, 5.0), "and nobody pumps any more"
