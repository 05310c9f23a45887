"""Faults that are programs: static, one for each architecture."""

from __future__ import annotations

import hashlib
import platform
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from whylate.files import write_whole
from whylate.lab.cache import cache_directory, disk_errors
from whylate.lab.errors import LabError
from whylate.lab.faults.alias import alias
from whylate.lab.faults.catalogue import SHARED, Fault
from whylate.lab.faults.compilers import require, run
from whylate.probe.binaries import ARCHITECTURES

#: Architecture, its compiler, and the compiler's Debian packages.
COMPILERS = {
    "x86_64": ("x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu libc6-dev-amd64-cross"),
    "aarch64": ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
    "armv7": ("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross"),
}
FLAGS = (
    *("-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"),
    *("-static", "-pthread", "-Wl,-s", "-Wl,--build-id=none"),
)


def programs(
    machine: str, faults: Sequence[Fault], tell: Callable[[str], None], disguise: str = ""
) -> dict[str, bytes]:
    """Return the program of each fault, by its name, for uname's `machine`.

    Built where its source changed; raises LabError.
    """
    arch = ARCHITECTURES.get(machine)
    if arch is None:
        raise LabError(f"there are no faults for {machine[:40]!r}")
    with disk_errors(cache_directory()):
        return {fault.name: _program(arch, fault, tell, disguise) for fault in faults}


def _program(arch: str, fault: Fault, tell: Callable[[str], None], disguise: str) -> bytes:
    compiler, package = COMPILERS[arch]
    if shutil.which(compiler) is None and ARCHITECTURES.get(platform.machine()) == arch:
        compiler, package = "gcc", "gcc libc6-dev"
    inputs = hashlib.sha256("\0".join([arch, compiler, *FLAGS]).encode())
    for path in (fault.source_file, *sorted(SHARED.glob("fault_*.h"))):
        inputs.update(path.read_bytes() + b"\0")
    # The program is the same under any name: its thread has the name of its file.
    directory = cache_directory() / "faults" / f"{fault.name}-{arch}-{inputs.hexdigest()[:16]}"
    built = directory / fault.name
    if not built.exists():
        require(compiler, package)
        tell(f"building {alias(fault, disguise)} for {arch}")
        directory.mkdir(parents=True, exist_ok=True)
        # In a private directory: another whylate may build the same at the same time.
        with tempfile.TemporaryDirectory(prefix="whylate-faults-") as name:
            fresh = Path(name) / fault.name
            _compile(compiler, fault.source_file, fresh)
            write_whole(built, fresh.read_bytes())
    return built.read_bytes()


def _compile(compiler: str, source: Path, target: Path) -> None:
    command = [compiler, *FLAGS, f"-I{SHARED}", "-o", str(target), str(source)]
    run(command, source.name, source.parent)
