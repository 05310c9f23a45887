"""Reading a board without measuring it: what `facts` and `doctor` need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from whylate.boards.board import Board, Tell
from whylate.boards.facts import for_release
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts, Snapshot
from whylate.boards.files import measure_frequencies, probe_facts, read_files
from whylate.probe.client import Client
from whylate.recording.manifest import RecorderReport
from whylate.run.try_recorder import try_recorder
from whylate.wire.messages import Welcome


def read_board(
    board: Board, requests: Sequence[FileRequest], tell: Tell
) -> tuple[Snapshot, ProbeFacts]:
    """Start a probe on a board that is ready, read, and leave; raises BoardError, ProbeError."""
    with _probe(board, tell) as (client, welcome):
        return _read(client, welcome, requests)


def read_board_and_recorder(
    board: Board, requests: Sequence[FileRequest], tell: Tell
) -> tuple[Snapshot, ProbeFacts, RecorderReport]:
    """Read as read_board() does, and then try the flight recorder for a moment; raises likewise."""
    with _probe(board, tell) as (client, welcome):
        snapshot, probe = _read(client, welcome, requests)
        tell("trying the flight recorder")
        return snapshot, probe, try_recorder(client, welcome.cpus)


@contextmanager
def _probe(board: Board, tell: Tell) -> Iterator[tuple[Client, Welcome]]:
    started = board.start_probe(tell)
    with closing(started.stream) as stream:
        client = Client(stream)
        welcome = client.hello()
        client.keepalive(started.keepalive_s)
        yield client, welcome


def _read(
    client: Client, welcome: Welcome, requests: Sequence[FileRequest]
) -> tuple[Snapshot, ProbeFacts]:
    frequencies = measure_frequencies(client, welcome.cpus)
    return read_files(client, for_release(requests, welcome.release)), probe_facts(
        welcome, frequencies
    )
