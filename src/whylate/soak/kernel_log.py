"""The kernel's log at the end of a run: crashes that the console does not show."""

from __future__ import annotations

import contextlib
from pathlib import Path

from whylate.boards.board import Board, BoardError, notify_nobody
from whylate.boards.facts.bootlog import KERNEL_LOG
from whylate.boards.facts.snapshot import FileRequest
from whylate.boards.files import read_files
from whylate.probe.budget import FACTS
from whylate.probe.client import ProbeError
from whylate.recording.console.crashes import Crash, find_crashes
from whylate.recording.errors import DiskError
from whylate.run.read import connected

#: The log beside the console's, where it shows a crash.
LOG = "kernel.log"
#: A kernel's buffer is rarely larger; a longer log is read up to here.
LIMIT = 1 << 20
#: With 1 the kernel logs signals that no program handles. arm64 and others have 0 by default. It
#: is not put back: the power is cut after the run.
_SHOW = "/proc/sys/debug/exception-trace"
_SHOW_S = 20.0


def show_program_crashes(board: Board) -> None:
    """Have the kernel log crashes of programs, where it can and the board lets us."""
    script = f"echo 1 >{_SHOW}; :"
    with contextlib.suppress(BoardError):
        board.run(["sh", "-c", f"[ ! -e {_SHOW} ] || {script}"], timeout_s=_SHOW_S)


def read_kernel_log(board: Board, place: Path) -> list[Crash]:
    """Return the crashes in the kernel's log, and keep a log that has some in `place`.

    None where it cannot be read: whether the board still answers is tried after it. Raises
    DiskError.
    """
    request = FileRequest(KERNEL_LOG, LIMIT, kind="kernel log")
    try:
        with connected(board, notify_nobody) as (client, _):
            client.enter(FACTS)
            content = read_files(client, [request]).files.get(KERNEL_LOG)
    except (BoardError, ProbeError):
        return []
    if content is None or content.error is not None:
        return []
    crashes = list(find_crashes(content.data))
    if crashes:
        path = place / LOG
        try:
            path.write_bytes(content.data)
        except OSError as error:
            raise DiskError(f"{path} cannot be written: {error.strerror}") from None
    return crashes
