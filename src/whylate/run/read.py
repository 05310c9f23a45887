"""Reading a board without measuring it: what `facts` and `doctor` need."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from whylate.boards.board import Board, Tell
from whylate.boards.facts import for_release
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts, Snapshot
from whylate.boards.files import measure_frequencies, probe_facts, read_files
from whylate.probe.client import Client


def read_board(
    board: Board, requests: Sequence[FileRequest], tell: Tell
) -> tuple[Snapshot, ProbeFacts]:
    """Start a probe on a board that is ready, read, and leave; raises BoardError, ProbeError."""
    started = board.start_probe(tell)
    with closing(started.stream) as stream:
        client = Client(stream)
        welcome = client.hello()
        client.keepalive(started.keepalive_s)
        frequencies = measure_frequencies(client, welcome.cpus)
        return read_files(client, for_release(requests, welcome.release)), probe_facts(
            welcome, frequencies
        )
