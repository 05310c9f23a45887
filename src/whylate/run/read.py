"""Reading a board without measuring it: what `facts` and `doctor` need."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from whylate.boards.facts import for_release
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts, Snapshot
from whylate.boards.files import measure_frequencies, probe_facts, read_files
from whylate.boards.open import open_board
from whylate.probe.client import Client


def read_board(board: str, requests: Sequence[FileRequest]) -> tuple[Snapshot, ProbeFacts]:
    """Start a probe on the board, read, and leave; raises BoardError and ProbeError."""
    with closing(open_board(board).start_probe()) as stream:
        client = Client(stream)
        welcome = client.hello()
        frequencies = measure_frequencies(client, welcome.cpus)
        return read_files(client, for_release(requests, welcome.release)), probe_facts(
            welcome, frequencies
        )
