"""The kernel's log at the end of a run: crashes that the console does not show."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from whylate.boards.board import Board, BoardError, notify_nobody
from whylate.boards.facts.bootlog import KERNEL_LOG
from whylate.boards.facts.snapshot import FileContent, FileRequest
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


@dataclass(frozen=True)
class KernelLog:
    """What the kernel's log shows. unread: why it was not read, or not to its end; "": it was."""

    crashes: tuple[Crash, ...] = ()
    unread: str = ""


def read_kernel_log(board: Board, place: Path) -> KernelLog:
    """Return the crashes in the kernel's log, and keep a log that has some in `place`.

    Whether a board on which it cannot be read still answers is tried after it. Raises DiskError.
    """
    request = FileRequest(KERNEL_LOG, LIMIT, kind="kernel log")
    try:
        with connected(board, notify_nobody) as (client, _):
            client.enter(FACTS)
            content = read_files(client, [request]).files.get(KERNEL_LOG)
    except (BoardError, ProbeError) as error:
        return KernelLog(unread=str(error))
    log = search_log(content)
    if log.crashes and content is not None:
        path = place / LOG
        try:
            path.write_bytes(content.data)
        except OSError as error:
            raise DiskError(f"{path} cannot be written: {error.strerror}") from None
    return log


def search_log(content: FileContent | None) -> KernelLog:
    """Return what the probe's answer shows."""
    if content is None:
        return KernelLog(unread="the probe did not send it")
    if content.error is not None:
        restricted = " (kernel.dmesg_restrict: for root alone)" if content.error == "EPERM" else ""
        return KernelLog(unread=f"{content.error}{restricted}")
    # The probe reads the oldest lines.
    cut = f"its newest lines, beyond {LIMIT >> 10} KiB" if content.truncated else ""
    return KernelLog(find_crashes(content.data), cut)
