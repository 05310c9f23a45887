"""Building faults: static programs, and kernel modules against the headers of a virtual board."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from whylate.files import write_whole
from whylate.lab.cache import building, cache_directory, disk_errors
from whylate.lab.description import VirtualBoard
from whylate.lab.errors import LabError
from whylate.lab.faults.catalogue import REMEDIES, SHARED, Fault, alias, hidden
from whylate.lab.packages import BACKPORTS, Packages, packages_of, system_release
from whylate.lab.sums import cached_sha256
from whylate.probe.binaries import ARCHITECTURES

#: Architecture, its compiler, and the compiler's Debian packages.
COMPILERS = {
    "x86_64": ("x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu libc6-dev-amd64-cross"),
    "aarch64": ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
    "armv7": ("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross"),
    "riscv64": ("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross"),
}
FLAGS = (
    *("-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"),
    *("-static", "-pthread", "-Wl,-s", "-Wl,--build-id=none"),
)


def programs(
    machine: str, faults: Sequence[Fault], notify: Callable[[str], None], disguise: str = ""
) -> dict[str, bytes]:
    """Return the program of each fault, by its name, for uname's `machine`.

    Built where its source changed; raises LabError.
    """
    arch = ARCHITECTURES.get(machine)
    if arch is None:
        raise LabError(f"there are no faults for {machine[:40]!r}")
    with disk_errors(cache_directory()):
        return {fault.name: _program(arch, fault, notify, disguise) for fault in faults}


def _program(arch: str, fault: Fault, notify: Callable[[str], None], disguise: str) -> bytes:
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
        notify(f"building {alias(fault, disguise)} for {arch}")
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


#: Far longer than the slowest of them takes.
BUILD_S = 300


def require(program: str, package: str) -> None:
    """Raise LabError, with what to install, where a program is missing."""
    if shutil.which(program) is None:
        raise LabError(
            f"{program} is missing, which builds injected faults: install it "
            f"(Debian: apt-get install {package})"
        )


def run(command: Sequence[str], what: str, cwd: Path) -> str:
    """Run a tool and return its output; raises LabError with its first error."""
    # Without this, make would inherit the options and the jobs of a make that runs us.
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "ARCH", "CROSS_COMPILE", "CC", "CFLAGS")
    }
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_S,
            check=False,
            env={**environment, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise LabError(f"building {what} took longer than {BUILD_S} s") from None
    except OSError as error:
        raise LabError(f"{command[0]} cannot be run: {error.strerror}") from None
    if done.returncode:
        lines = (done.stderr + done.stdout).splitlines()
        first = next((line for line in lines if "error" in line.lower()), " | ".join(lines[-3:]))
        raise LabError(f"{what} cannot be built: {first[:300]}")
    return done.stdout


#: The architecture whose tools are in Debian's packages of headers: they run on no other.
ARCH = "amd64"
#: By a board's architecture: what the kernel calls it, and the prefix of its compiler.
_KERNELS = {
    "amd64": ("x86_64", ""),
    "arm64": ("arm64", "aarch64-linux-gnu-"),
    "armhf": ("arm", "arm-linux-gnueabihf-"),
    "riscv64": ("riscv", "riscv64-linux-gnu-"),
}
#: Those for whose boards faults are built as modules.
_MODULES = ("amd64", "arm64", "riscv64")
#: The compiler of those kernels, and for modules of every other.
COMPILER = "gcc-12"
#: How packages of build tools are called.
TOOLS = "linux-kbuild-"
#: Paths in the packages are absolute, and below this.
_PLACE = "/usr/src/"


def has_modules(board: VirtualBoard) -> bool:
    """Return whether modules for a board's kernel can be built on this machine."""
    return board.description.debian_arch in _MODULES and platform.machine() == "x86_64"


def compiler_prefix(board: VirtualBoard) -> str:
    """Return what the names of the compiler and its tools begin with, for a board's kernel."""
    return _KERNELS[board.description.debian_arch][1]


def module_options(board: VirtualBoard) -> list[str]:
    """Return the options of make for modules of a board's kernel."""
    kernel, prefix = _KERNELS[board.description.debian_arch]
    if not prefix:
        return []
    # Another release's kernel was built with another compiler; and its headers have the kernel's
    # types, from which a program that is not here (pahole) would make those of modules.
    other = [f"CC={prefix}{COMPILER}", "CONFIG_DEBUG_INFO_BTF_MODULES="]
    return [
        f"ARCH={kernel}",
        f"CROSS_COMPILE={prefix}",
        *(other if board.description.release else []),
    ]


def kernel_headers(board: VirtualBoard, notify: Callable[[str], None]) -> Path:
    """Return the directory in which to build modules for a board's kernel; raises LabError.

    Fetches the packages unless they are cached.
    """
    arch = board.description.debian_arch
    if platform.machine() != "x86_64" or arch not in _KERNELS:
        raise LabError(
            f"kernel modules are built on x86-64 machines, not for {board.name} on "
            f"{platform.machine()}: there the faults that are programs can be used"
        )
    cache = cache_directory()
    with building(cache, notify):
        packages = packages_of(board, cache)
        kernel = packages.dependency(board.kernel_package, "linux-image-", notify)
        release = kernel.removeprefix("linux-image-")
        debs = [packages.fetch(f"linux-headers-{release}", notify)]
        # The kernel's own headers, those of all flavours, and the tools.
        for name in parts(debs[0]):
            is_tools = name.startswith(TOOLS)
            debs.append(_tools(board, name, notify) if is_tools else packages.fetch(name, notify))
        key = hashlib.sha256("".join(cached_sha256(package) for package in debs).encode())
        here = cache / "headers" / f"{release}-{key.hexdigest()[:16]}"
        if not here.exists():
            notify(f"unpacking the headers of {release}")
            unpack(debs, here)
    return here / "usr/src" / f"linux-headers-{release}"


def _tools(board: VirtualBoard, name: str, notify: Callable[[str], None]) -> Path:
    """Fetch the package of a kernel's build tools: they run on this machine, not on the board.

    Those of another release need its libc. The system's backports have tools of the same series.
    """
    directory = cache_directory() / "packages"
    if board.description.release in ("", system_release()):
        return Packages(directory, ARCH).fetch(name, notify)
    packages = Packages(directory, ARCH, BACKPORTS)
    headers = packages.dependency(f"linux-headers-{ARCH}", "linux-headers-", notify)
    tools = packages.dependency(headers, TOOLS, notify)
    series = [_series(kbuild) for kbuild in (name, tools)]
    if series[0] != series[1]:
        raise LabError(
            f"the build tools of {board.name}'s kernel ({name}) do not run on this release, and "
            f"its backports have {tools}: the faults that are programs can be used"
        )
    return packages.fetch(tools, notify)


def _series(kbuild: str) -> list[str]:
    """Return the first two numbers of a kernel's version."""
    return kbuild.removeprefix(TOOLS).split(".")[:2]


def parts(package: Path) -> list[str]:
    """Return the packages of shared headers and of tools that headers depend on."""
    done = subprocess.run(
        ["dpkg-deb", "-f", str(package), "Depends"], capture_output=True, text=True, check=False
    )
    parts = re.findall(r"\b(linux-(?:headers|kbuild)-[a-z0-9.+-]+)", done.stdout)
    if len(parts) < 2:
        raise LabError(f"{package.name} has no dependencies")
    return parts


def unpack(packages: list[Path], target: Path) -> None:
    """Unpack packages of headers below a directory that is not there yet; raises LabError."""
    fresh = target.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for package in packages:
        done = subprocess.run(
            ["dpkg-deb", "-x", str(package), str(fresh)], capture_output=True, check=False
        )
        if done.returncode:
            raise LabError(f"{package.name} cannot be unpacked: is the disk full?")
    _link_tools(fresh)
    for makefile in (fresh / "usr/src").glob("linux-headers-*/Makefile"):
        text = makefile.read_text()
        if text.startswith(f"include {_PLACE}"):
            makefile.write_text(text.replace(_PLACE, f"{target}{_PLACE}", 1))
    fresh.rename(target)


def _link_tools(directory: Path) -> None:
    """Let headers that are linked to tools of their own version find those that are there."""
    # glob() shows no link that leads nowhere.
    for headers in (directory / "usr/src").glob("linux-headers-*"):
        scripts = headers / "scripts"
        if scripts.is_symlink() and not scripts.exists():
            wanted = scripts.readlink().parent
            tools = next(iter((directory / "usr/lib").glob(f"{TOOLS}*")), None)
            if tools is None:
                raise LabError(f"{headers.name} has no build tools ({wanted.name})")
            (directory / "usr/lib" / wanted.name).symlink_to(tools.name)


#: What modules include.
HEADERS = (
    SHARED / "fault_module.h",
    SHARED / "fault_module_beside.h",
    *(REMEDIES / f"{name}.h" for name in ("remedy_atomic", "remedy_lock", "bulk_work")),
    REMEDIES / "shared_read.h",
)
#: Names of a module that the kernel uses.
KEPT = ("init_module", "cleanup_module")


def modules(
    board: VirtualBoard, faults: Sequence[Fault], notify: Callable[[str], None], disguise: str = ""
) -> dict[str, bytes]:
    """Return the module of each fault, by its name, for the kernel of a board.

    Built where a source or the kernel changed; raises LabError. disguise: then nothing in a module,
    its functions and its name reveals what it does.
    """
    if not faults:
        return {}
    if not has_modules(board):
        raise LabError(
            "faults are built as kernel modules for virtual boards of x86-64, arm64 and riscv64, "
            f"not for {board.name}: there the faults that are programs can be used"
        )
    headers = kernel_headers(board, notify)
    places = {fault.name: _place(headers, fault, disguise) for fault in faults}
    absent = [fault for fault in faults if not places[fault.name].exists()]
    if absent:
        require("make", "make")
        prefix = compiler_prefix(board)
        package = f"{COMPILER}-{prefix.removesuffix('-')}" if prefix else COMPILER
        require(f"{prefix}{COMPILER}", package)
        notify(f"building {', '.join(alias(fault, disguise) for fault in absent)} for {board.name}")
        _build(board, headers, absent, places, disguise)
    return {name: place.read_bytes() for name, place in places.items()}


def _place(headers: Path, fault: Fault, disguise: str) -> Path:
    """Return a module's file, named after the hash of its inputs."""
    # The headers' directory is named after the packages' hashes.
    inputs = hashlib.sha256(f"{headers}\0{fault.name}\0{disguise}\0".encode())
    for path in (fault.source_file, *HEADERS, Path(__file__)):
        inputs.update(path.read_bytes() + b"\0")
    return cache_directory() / "faults" / f"{fault.name}-{inputs.hexdigest()[:16]}.ko"


def _build(
    board: VirtualBoard,
    headers: Path,
    faults: Sequence[Fault],
    places: dict[str, Path],
    disguise: str,
) -> None:
    with tempfile.TemporaryDirectory(prefix="whylate-faults-") as name:
        here = Path(name)
        for header in HEADERS:
            shutil.copy(header, here)
        for fault in faults:
            # The module, its thread and its interrupt have the name of its source.
            shutil.copy(fault.source_file, here / f"{alias(fault, disguise)}.c")
        objects = " ".join(f"{alias(fault, disguise)}.o" for fault in faults)
        (here / "Kbuild").write_text(f"obj-m := {objects}\nccflags-y := -Werror\n")
        make = ["make", "-s", "-j2", *module_options(board), "-C", str(headers)]
        run([*make, f"M={here}", "modules"], ", ".join(fault.name for fault in faults), here)
        for fault in faults:
            place = places[fault.name]
            module = here / f"{alias(fault, disguise)}.ko"
            _strip(module, alias(fault, disguise), disguise, compiler_prefix(board))
            place.parent.mkdir(parents=True, exist_ok=True)
            fresh = place.with_suffix(".new")
            shutil.copy(module, fresh)
            fresh.replace(place)


def _strip(module: Path, name: str, disguise: str, prefix: str) -> None:
    """Remove debugging information; with a disguise rename the functions not named after `name`."""
    command = [f"{prefix}objcopy", "--strip-debug"]
    if disguise:
        symbols = run([f"{prefix}nm", "--defined-only", module.name], module.name, module.parent)
        for line in symbols.split("\n"):
            words = line.split()
            if len(words) != 3 or words[1] not in "tT" or words[2] in KEPT:
                continue
            if not words[2].startswith(f"{name}_"):
                command += ["--redefine-sym", f"{words[2]}=f{hidden(disguise, words[2])}"]
    run([*command, module.name], module.name, module.parent)
