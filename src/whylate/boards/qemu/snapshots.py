"""Snapshots of virtual boards that have booted in virtual time, from which runs are resumed.

A board is stopped by an instruction of its own, just before it reads the files of the run. What
happened until then is the same in each boot in virtual time, and so is each snapshot of it. State
of QEMU's own is not in a snapshot: which CPU's turn is next, and interrupts that a queue may leave
out. A board that simply went on after its boot would take its turns otherwise, so that each run
begins with a resumption. QEMU's memory is a file that each run maps privately.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from whylate.boards.errors import BoardError
from whylate.boards.qemu.machine import Machine
from whylate.boards.qemu.qmp import Qmp, QmpError
from whylate.files import lock_within
from whylate.lab.qemu import Qemu

#: The first QEMU that writes its state to a file (`file:`).
FROM = (8, 2)
#: Bytes on the disk that all snapshots take together; one takes about 100 MB.
LIMIT_BYTES = 1 << 30
#: Reading the state of devices takes less than a tenth of a second.
RESUME_S = 60.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MEMORY, _STATE, _LOCK = "memory", "state", "lock"


class ResumeError(BoardError):
    """A snapshot from which QEMU does not go on."""


@dataclass(frozen=True)
class Snapshot:
    """A board that has booted: its memory, the state of its devices, and what it printed."""

    memory: Path
    state: Path
    console: bytes


def resume(machine: Machine, command: Sequence[str], snapshot: Snapshot) -> None:
    """Start QEMU as it was when a snapshot was taken; raises ResumeError and BoardError.

    command: names the machine's socket for its monitor.
    """
    machine.start(command, outlive=False, console=snapshot.console)
    try:
        with Qmp(machine.control_socket, RESUME_S, lambda: machine.pid is not None) as qmp:
            qmp.migrate("migrate-incoming", snapshot.state)
            qmp.run("cont")
    except QmpError as error:
        words = machine.last_words()
        machine.stop()
        raise ResumeError(f"{error}: {words}") from None


class Snapshots:
    """The snapshots in a directory, which processes share."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def key(self, qemu: Qemu, parts: Sequence[str]) -> str:
        """Return the name of the snapshot of a board; raises OSError.

        parts: what distinguishes its boot: the image, and QEMU's arguments. Also QEMU itself with
        its firmware, and the boot of this machine: files that were never synced may be damaged by
        the next.
        """
        words = [*parts, *qemu.command, _BOOT_ID.read_text()]
        paths = [Path(word) for word in qemu.command if word.startswith("/")]
        words += [str(path.stat().st_mtime_ns) for path in paths if path.exists()]
        return hashlib.sha256("\0".join(words).encode()).hexdigest()[:24]

    def has(self, key: str) -> bool:
        """Return whether there is a snapshot now."""
        return (self._directory / key / _STATE).exists()

    @contextmanager
    def find(self, key: str) -> Iterator[Snapshot | None]:
        """Yield a snapshot, which is not removed meanwhile; None where there is none.

        Raises OSError.
        """
        here = self._directory / key
        with _locked(here / _LOCK, shared=True) as locked:
            if not locked or not self.has(key):
                yield None
                return
            # The least recently used is removed first.
            os.utime(here / _LOCK)
            console = (here / "console.log").read_bytes()
            yield Snapshot(here / _MEMORY, here / _STATE, console)

    def create(
        self, key: str, command: Callable[[Path, Path], Sequence[str]], control: Path, boot_s: float
    ) -> None:
        """Boot a board and keep it as it is when it stops.

        Waits while another process makes a snapshot, as long as a boot may take: then there may be
        none. command: from the directory of its console's log and the file of its memory to QEMU's
        command. Raises BoardError where the board does not boot, and OSError.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        with _locked(self._directory / _LOCK, shared=False, wait_s=boot_s) as locked:
            if not locked or self.has(key):
                return
            for left in self._directory.glob("*.new"):
                shutil.rmtree(left, ignore_errors=True)
            fresh = self._directory / f"{key}.new"
            fresh.mkdir()
            machine = Machine(fresh)
            try:
                machine.start(command(fresh, fresh / _MEMORY), outlive=False)
                with Qmp(control, boot_s, lambda: machine.pid is not None) as qmp:
                    qmp.wait_for("GUEST_PANICKED")
                    qmp.migrate("migrate", fresh / _STATE)
                machine.stop()
                (fresh / _LOCK).touch()
                # What is left of one that could not be removed as a whole.
                shutil.rmtree(self._directory / key, ignore_errors=True)
                fresh.rename(self._directory / key)
            except QmpError as error:
                raise BoardError(f"{error}: {machine.last_words()}") from None
            finally:
                machine.stop()
                shutil.rmtree(fresh, ignore_errors=True)
            self._remove_old()

    def remove(self, key: str) -> None:
        """Remove a snapshot, unless a run is about to read it."""
        here = self._directory / key
        with contextlib.suppress(OSError), _locked(here / _LOCK, shared=False) as locked:
            if locked:
                # Without it there is no snapshot, whatever else is left.
                (here / _STATE).unlink(missing_ok=True)
                shutil.rmtree(here, ignore_errors=True)

    def _remove_old(self) -> None:
        """Remove the least recently used beyond the limit, unless a run is about to read them."""
        locks = sorted(self._directory.glob(f"*/{_LOCK}"), key=_used)
        sizes = {lock: _disk_bytes(lock.parent) for lock in locks}
        total = sum(sizes.values())
        for lock in locks[:-1]:
            if total <= LIMIT_BYTES:
                break
            self.remove(lock.parent.name)
            if not lock.exists():
                total -= sizes[lock]


@contextmanager
def _locked(path: Path, *, shared: bool, wait_s: float = 0.0) -> Iterator[bool]:
    """Hold the lock of a file; yields whether it could be had in time. Raises OSError."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except FileNotFoundError:
        yield False
        return
    try:
        yield lock_within(fd, wait_s, shared=shared)
    finally:
        os.close(fd)


def _used(lock: Path) -> float:
    with contextlib.suppress(OSError):
        return lock.stat().st_mtime
    return 0.0


def _disk_bytes(directory: Path) -> int:
    with contextlib.suppress(OSError):
        return sum(file.stat().st_blocks * 512 for file in directory.iterdir())
    return 0
