"""How a virtual board in virtual time comes up with the files of a run.

It is resumed from a snapshot that runs share. Where there can be none it boots, and is resumed from
a snapshot of its own: a run is the same either way.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whylate.boards.board import CameUp, ImageFile, Notify
from whylate.boards.errors import BoardError
from whylate.boards.qemu.arguments import HANDOVER_BYTES, Start, arguments
from whylate.boards.qemu.machine import Machine
from whylate.boards.qemu.snapshots import FROM, ResumeError, Snapshots, resume
from whylate.lab.cache import cache_directory
from whylate.lab.description import VirtualBoard
from whylate.lab.image import Image
from whylate.lab.initramfs import packed
from whylate.lab.qemu import Qemu

#: The user may have each run boot its board: "0".
VARIABLE = "WHYLATE_SNAPSHOTS"
#: Words of a kernel's command line with which a board may not read memory that is shared with it.
_REFUSING = ("lockdown", "lsm=", "security=", "pci=", "iomem=", "init=", "rdinit=")
_LENGTH = struct.Struct("<Q")


def takes_handover(board: VirtualBoard, image: Image, kernel_args: Sequence[str]) -> bool:
    """Return whether a board reads the files of a run when it has booted; else in its image."""
    refused = any(word.startswith(_REFUSING) for word in kernel_args)
    return board.description.resumes and not image.init and not refused


def write_handover(path: Path, files: Iterable[ImageFile]) -> None:
    """Write the files of a run as the board expects them; raises BoardError and OSError."""
    data = packed(files)
    if _LENGTH.size + len(data) > HANDOVER_BYTES:
        raise BoardError(
            f"the files of a run are {len(data) >> 20} MiB: in virtual time they may have "
            f"{HANDOVER_BYTES >> 20} MiB"
        )
    with path.open("wb") as file:
        file.write(_LENGTH.pack(len(data)) + data)
        file.truncate(HANDOVER_BYTES)


@dataclass(frozen=True)
class PlannedStart:
    """A board that is started with the files of a run, and what starts it.

    turns: words before QEMU's command, without which two boots may differ
    (whylate.boards.qemu.arguments.fixed_turns).
    """

    board: VirtualBoard
    qemu: Qemu
    image: Image
    machine: Machine
    turns: Sequence[str]
    boot_s: float

    def start(self, start: Start, handover: Path, notify: Notify) -> CameUp:
        """Start it; return how it came up. Raises BoardError.

        handover: the files of the run (write_handover).
        """
        # What the seed of a run changes is in its plan: all boots are the same.
        start = replace(start, seed=0, handover=handover, control=self.machine.control_socket)
        if self.turns and self.qemu.version >= FROM:
            own = self.machine.directory / "snapshot"
            try:
                if os.environ.get(VARIABLE) != "0":
                    shared = cache_directory() / "snapshots"
                    if self._resume(Snapshots(shared), start, notify):
                        return "resumed from a snapshot"
                if self._resume(Snapshots(own), start, notify):
                    return "resumed from a snapshot of its own"
            except BoardError as error:
                notify(f"no snapshot of {self.board.name} ({error}): booting it")
            finally:
                # The memory of the board is mapped, and its state read.
                shutil.rmtree(own, ignore_errors=True)
        self.machine.start(self._command(start), outlive=False)
        return "booted"

    def _resume(self, snapshots: Snapshots, start: Start, notify: Notify) -> bool:
        """Resume it, after a boot where there is no snapshot yet; return whether that is possible.

        Raises BoardError where it does not boot.
        """
        try:
            return self._resume_from(snapshots, start)
        except (ResumeError, OSError) as error:
            notify(f"no snapshot of {self.board.name} ({error}): booting it")
            return False

    def _resume_from(self, snapshots: Snapshots, start: Start) -> bool:
        nowhere = Path("/")
        same = replace(start, directory=nowhere, output=nowhere, handover=nowhere, control=nowhere)
        # On which CPU it runs makes no difference.
        words = replace(self, turns=())._command(same)
        key = snapshots.key(self.qemu, [self.image.sha256, *words])

        def stopping(directory: Path, memory: Path) -> list[str]:
            port = directory / "port"
            return self._command(
                replace(start, directory=directory, output=port, memory=memory, stops=True)
            )

        if not snapshots.has(key):
            snapshots.create(key, stopping, self.machine.control_socket, self.boot_s)
        try:
            with snapshots.find(key) as snapshot:
                if snapshot is not None:
                    command = self._command(replace(start, memory=snapshot.memory))
                    resume(self.machine, command, snapshot)
                return snapshot is not None
        except ResumeError:
            snapshots.remove(key)
            raise

    def _command(self, start: Start) -> list[str]:
        command = arguments(self.board, self.qemu, self.image, self.image.initrd, start)
        return [*self.turns, *command]
