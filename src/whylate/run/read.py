"""Read a board without measuring it, for `facts` and `doctor`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from whylate.boards.board import Board, Notify
from whylate.boards.facts import for_release
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts, Snapshot
from whylate.boards.files import measure_frequencies, probe_facts, read_files, read_long_file
from whylate.probe.budget import CPUS, FACTS, PREPARE
from whylate.probe.client import Client
from whylate.probe.errors import ProbeRefusedError, ProbeTimeoutError
from whylate.recording.manifest import RecorderReport
from whylate.wire.codec import WireError
from whylate.wire.frame import Frame
from whylate.wire.messages import Message, Recorder, Result, Welcome

#: Some windows are copied, so that functions get their names; few, since a line may be slow.
_NEVER_LATE_NS = 3_600_000_000_000
_CONTROL_EVERY = 4
#: As long as a run has to begin, since the probe may starve on a busy board. The link gives up a
#: silent board much sooner.
_LIMIT_S = 300.0
_PUMP_S = 0.2


def read_board(
    board: Board,
    requests: Sequence[FileRequest],
    notify: Notify,
    long_files: Mapping[str, int] = MappingProxyType({}),
) -> tuple[Snapshot, ProbeFacts]:
    """Start a probe on a board that is ready, read, and leave; raises BoardError, ProbeError.

    long_files: the most bytes to read of files that one read may be too short for.
    """
    with connected(board, notify) as (client, welcome):
        snapshot, probe = _read(client, welcome, requests)
        files = dict(snapshot.files)
        for path, most in long_files.items():
            if (content := read_long_file(client, path, most)) is not None:
                files[path] = content
        return Snapshot(files), probe


def read_board_and_recorder(
    board: Board, requests: Sequence[FileRequest], notify: Notify
) -> tuple[Snapshot, ProbeFacts, RecorderReport]:
    """Read as read_board() does, then try the flight recorder; raises likewise."""
    with connected(board, notify) as (client, welcome):
        snapshot, probe = _read(client, welcome, requests)
        notify("trying the flight recorder")
        return snapshot, probe, try_recorder(client, welcome.cpus)


def try_recorder(client: Client, cpus: Sequence[int]) -> RecorderReport:
    """Record a fifth of a second on these CPUs, detach the recorder, and return its report.

    The report of a board that can record nothing has no engine, and the reason. Raises ProbeError.
    """
    from whylate.recording.recorder.accounting import RecorderAccounting
    from whylate.run.workloads.wakeup import recorder_check_command

    accounting = RecorderAccounting()
    ended = False

    def receive(frame: Frame, message: Message) -> None:
        nonlocal ended
        del frame
        with contextlib.suppress(WireError):
            accounting.add(message)
        ended = ended or isinstance(message, Result)

    client.enter(PREPARE)
    former, client.on_message = client.on_message, receive
    try:
        client.call(
            Recorder(
                engine=0,
                threshold_ns=_NEVER_LATE_NS,
                tail_ppm=0,
                control_every=_CONTROL_EVERY,
                ring_bytes=0,
                stop_above_ns=0,
            )
        )
        client.call(recorder_check_command(cpus))
        deadline = time.monotonic() + _LIMIT_S
        while not ended:
            client.pump(_PUMP_S)
            if time.monotonic() > deadline:
                raise ProbeTimeoutError(f"trying the recorder did not end within {_LIMIT_S:.0f} s")
    except ProbeRefusedError as error:
        accounting.refuse(str(error))
    finally:
        client.on_message = former
    return accounting.report(windows=0)


@contextlib.contextmanager
def connected(board: Board, notify: Notify) -> Iterator[tuple[Client, Welcome]]:
    """Start a probe on a ready board and yield its client; raises BoardError, ProbeError."""
    started = board.start_probe(notify)
    with contextlib.closing(started.stream) as stream:
        client = Client(stream)
        welcome = client.hello()
        client.keepalive(started.keepalive_s)
        yield client, welcome


def _read(
    client: Client, welcome: Welcome, requests: Sequence[FileRequest]
) -> tuple[Snapshot, ProbeFacts]:
    client.enter(CPUS)
    frequencies = measure_frequencies(client, welcome.cpus)
    client.enter(FACTS)
    snapshot = read_files(client, for_release(requests, welcome.release))
    return snapshot, probe_facts(welcome, frequencies)
