"""The kernel's log at the end of a run: crashes that the console does not show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from whylate.boards.board import Board, notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.facts.bootlog import KERNEL_LOG
from whylate.boards.facts.snapshot import FileContent, FileRequest
from whylate.boards.files import read_files
from whylate.probe.budget import FACTS
from whylate.probe.errors import ProbeError
from whylate.recording.console.crashes import Crash, find_crashes
from whylate.recording.console.kernel_stamp import KERNEL_STAMP
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
#: A kernel stamps its log by another clock than that of its uptime; both may drift apart so far.
_APART_S = 10.0


def show_program_crashes(board: Board) -> float | None:
    """Have the kernel log crashes of programs, where it can and the board lets us.

    Returns how long the kernel is up, seconds; None where the board does not say.
    """
    script = f'[ ! -e {_SHOW} ] || echo 1 >{_SHOW}; read -r up _ </proc/uptime; echo "$up"'
    try:
        done = board.run(["sh", "-c", script], timeout_s=_SHOW_S)
        up_s = float(done.output[:40])
    except (BoardError, ValueError):
        return None
    return up_s if math.isfinite(up_s) else None


def logged_before(up_s: float | None, cycle_s: float) -> float:
    """Return before which stamp of the kernel's log, seconds, nothing is of a cycle.

    up_s: how long the kernel is up, cycle_s after the cycle began. Where the cycle has booted it,
    all of its log is of the cycle; where its supply does not reach it, the log is older.
    """
    return max(0.0, up_s - cycle_s - _APART_S) if up_s is not None else 0.0


@dataclass(frozen=True)
class KernelLog:
    """What the kernel's log shows. unread: why it was not read, or not to its end; "": it was."""

    crashes: tuple[Crash, ...] = ()
    unread: str = ""


def read_kernel_log(board: Board, place: Path, before_s: float = 0.0) -> KernelLog:
    """Return the crashes in the kernel's log, and keep a log that has some in `place`.

    Lines with a stamp below before_s are left out.

    Whether a board on which it cannot be read still answers is tried after it. Raises DiskError.
    """
    request = FileRequest(KERNEL_LOG, LIMIT, kind="kernel log")
    try:
        with connected(board, notify_nobody) as (client, _):
            client.enter(FACTS)
            content = read_files(client, [request]).files.get(KERNEL_LOG)
    except (BoardError, ProbeError) as error:
        return KernelLog(unread=str(error))
    log = search_log(content, before_s)
    if log.crashes and content is not None:
        path = place / LOG
        try:
            path.write_bytes(content.data)
        except OSError as error:
            raise DiskError(f"{path} cannot be written: {error.strerror}") from None
    return log


def search_log(content: FileContent | None, before_s: float = 0.0) -> KernelLog:
    """Return what the probe's answer shows from a stamp on."""
    if content is None:
        return KernelLog(unread="the probe did not send it")
    if content.error is not None:
        restricted = " (kernel.dmesg_restrict: for root alone)" if content.error == "EPERM" else ""
        return KernelLog(unread=f"{content.error}{restricted}")
    # The probe reads the oldest lines.
    cut = f"its newest lines, beyond {LIMIT >> 10} KiB" if content.truncated else ""
    return KernelLog(find_crashes(_since(content.data, before_s)), cut)


def _since(log: bytes, before_s: float) -> bytes:
    """Return the lines from a stamp on; lines without one are of the line before them."""
    kept: list[bytes] = []
    older = False
    for line in log.splitlines(keepends=True):
        stamp = KERNEL_STAMP.match(line[:64])
        if stamp is not None:
            older = float(stamp[1]) < before_s
        if not older:
            kept.append(line)
    return b"".join(kept)
