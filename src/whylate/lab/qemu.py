"""QEMU itself: the system's, or a newer one where that does not support virtual time.

Before 8.1 QEMU let the first CPU run until the next timer, so that in virtual time the other CPUs
of a board stall while it is busy. Debian 12 has 7.2; a newer one is fetched from
its backports, unpacked beside the images and never installed.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from whylate.lab.cache import building, cache_directory
from whylate.lab.description import VirtualBoard
from whylate.lab.errors import LabError
from whylate.lab.packages import BACKPORTS, Packages, contents

#: The first version that shares virtual time fairly among the CPUs of a board.
FAIR = (8, 1)
_SUPPORT = ("qemu-system-common", "qemu-system-data")
_DEBIAN_ARCH = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "armhf"}


@dataclass(frozen=True)
class Qemu:
    """A QEMU that runs on this machine."""

    #: The command's first words: the program, and the directories of its firmware.
    command: tuple[str, ...]
    version: tuple[int, int]

    @property
    def fair(self) -> bool:
        """Whether several CPUs can be run in virtual time."""
        return self.version >= FAIR


def find_qemu(board: VirtualBoard) -> Qemu | None:
    """Return the newest installed or cached QEMU for a board; None without one."""
    candidates = [
        qemu
        for command in (_fetched(board), _system(board))
        if command is not None and (qemu := _examine(command)) is not None
    ]
    return max(candidates, key=lambda qemu: qemu.version, default=None)


def fetch_qemu(board: VirtualBoard, notify: Callable[[str], None]) -> None:
    """Fetch a newer QEMU where the present one is too old; raises LabError."""
    here = find_qemu(board)
    if here is None:
        raise LabError(
            f"{board.description.qemu} is not here: install it (Debian: apt-get install "
            f"{board.description.qemu_package})"
        )
    if here.fair:
        return
    cache = cache_directory()
    with building(cache, notify):
        packages = Packages(cache / "packages", _DEBIAN_ARCH[platform.machine()], BACKPORTS)
        directory = cache / "qemu"
        description = board.description
        newer = description.newer_qemu_packages or (description.qemu_package,)
        for name in (*_SUPPORT, *newer):
            _unpack(packages.fetch(name, notify), directory)
    after = find_qemu(board)
    if after is None or not after.fair:
        raise LabError(
            f"the {board.description.qemu} of Debian's backports does not run here: several CPUs "
            "in virtual time need QEMU 8.1 or newer"
        )


def _system(board: VirtualBoard) -> tuple[str, ...] | None:
    path = shutil.which(board.description.qemu)
    return None if path is None else (path,)


def _fetched(board: VirtualBoard) -> tuple[str, ...] | None:
    directory = cache_directory() / "qemu"
    program = directory / "usr/bin" / board.description.qemu
    if not program.exists():
        return None
    # Firmware of separate packages is the system's.
    data = (directory / "usr/share/qemu", "/usr/share/seabios", "/usr/share/qemu")
    return (str(program), *(word for place in data for word in ("-L", str(place))))


def _examine(command: tuple[str, ...]) -> Qemu | None:
    try:
        done = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"version (\d+)\.(\d+)", done.stdout)
    return Qemu(command, (int(version[1]), int(version[2]))) if version else None


def _unpack(package: Path, directory: Path) -> None:
    """Unpack programs and data of a package, once."""
    stamp = directory / f"{package.name}.unpacked"
    if stamp.exists():
        return
    with contents(package) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            if path.parts[:1] == ("usr",) and path.parts[1:2] in {("bin",), ("share",), ("lib",)}:
                tar.extract(member, directory, filter="data")
    stamp.touch()
