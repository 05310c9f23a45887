"""The headers of a virtual board's kernel: Debian's packages, unpacked and never installed."""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from whylate.files import sha256_of
from whylate.lab.cache import building, cache_directory
from whylate.lab.description import VirtualBoard
from whylate.lab.errors import LabError
from whylate.lab.packages import Packages

#: Debian's packages of headers have tools that run only on the architecture they are for.
ARCH = "amd64"
#: Paths in the packages are absolute, and below this.
_PLACE = "/usr/src/"


def has_modules(board: VirtualBoard) -> bool:
    """Return whether modules for a board's kernel can be built on this machine."""
    return board.description.debian_arch == ARCH and platform.machine() == "x86_64"


def kernel_headers(board: VirtualBoard, tell: Callable[[str], None]) -> Path:
    """Return the directory in which to build modules for a board's kernel; raises LabError.

    Fetches the packages unless they are cached.
    """
    if not has_modules(board):
        raise LabError(
            f"kernel modules are built for pc and pc-rt on x86-64 machines, not for {board.name} "
            f"on {platform.machine()}: there the faults that are programs can be used"
        )
    cache = cache_directory()
    with building(cache, tell):
        packages = Packages(cache / "packages", ARCH)
        kernel = packages.dependency(board.kernel_package, "linux-image-", tell)
        release = kernel.removeprefix("linux-image-")
        debs = [packages.fetch(f"linux-headers-{release}", tell)]
        # The kernel's own headers, those of all flavours, and the tools.
        debs += [packages.fetch(name, tell) for name in _parts(debs[0])]
        key = hashlib.sha256("".join(sha256_of(package) for package in debs).encode())
        here = cache / "headers" / f"{release}-{key.hexdigest()[:16]}"
        if not here.exists():
            tell(f"unpacking the headers of {release}")
            _unpack(debs, here)
    return here / "usr/src" / f"linux-headers-{release}"


def _parts(package: Path) -> list[str]:
    done = subprocess.run(
        ["dpkg-deb", "-f", str(package), "Depends"], capture_output=True, text=True, check=False
    )
    parts = re.findall(r"\b(linux-(?:headers|kbuild)-[a-z0-9.+-]+)", done.stdout)
    if len(parts) < 2:
        raise LabError(f"{package.name} has no dependencies")
    return parts


def _unpack(packages: list[Path], target: Path) -> None:
    fresh = target.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for package in packages:
        done = subprocess.run(
            ["dpkg-deb", "-x", str(package), str(fresh)], capture_output=True, check=False
        )
        if done.returncode:
            raise LabError(f"{package.name} cannot be unpacked: is the disk full?")
    for makefile in (fresh / "usr/src").glob("linux-headers-*/Makefile"):
        text = makefile.read_text()
        if text.startswith(f"include {_PLACE}"):
            makefile.write_text(text.replace(_PLACE, f"{target}{_PLACE}", 1))
    fresh.rename(target)
