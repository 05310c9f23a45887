"""What a virtual board boots: a kernel, an initial RAM file system, perhaps a device tree."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from whylate.lab.cache import building, cache_directory, sha256_of
from whylate.lab.description import FILES, VirtualBoard
from whylate.lab.errors import LabError
from whylate.lab.initramfs import Archive
from whylate.lab.packages import Packages, contents
from whylate.probe.binaries import NoProbeError, probe_binary

BUSYBOX = "busybox-static"
#: Larger files in a package are not what we look for.
MAX_FILE = 256 << 20
#: Where things lie on the board.
PROBE = "/whylate/probe"
ON_PORT = "/whylate/on-port"
PLAN = "/whylate/plan"


@dataclass(frozen=True)
class Image:
    """The files that QEMU is given, and the kernel's release."""

    kernel: Path
    initrd: Path
    dtb: Path | None
    release: str
    #: Changes when anything in it changes.
    sha256: str


class _Kernel(msgspec.Struct, frozen=True):
    """What was taken out of a kernel package."""

    release: str
    kernel: str
    dtb: str | None
    modules: list[str]


def is_fetched(board: VirtualBoard) -> bool:
    """Whether all packages of a board are here, so that its image needs no network."""
    debs = cache_directory() / "packages" / board.description.debian_arch / "debs"
    note = debs / f"{board.kernel_package}.is"
    return note.exists() and (debs / note.read_text()).is_dir() and (debs / BUSYBOX).is_dir()


def build(board: VirtualBoard, tell: Callable[[str], None], *, update: bool = False) -> Image:
    """Return a board's image, made where anything in it changed; raises LabError.

    Fetches what is not here. update: look for newer packages first.
    """
    cache = cache_directory()
    with building(cache):
        packages = Packages(cache / "packages", board.description.debian_arch)
        package = packages.dependency(board.kernel_package, "linux-image-", tell, update=update)
        kernel_deb = packages.fetch(package, tell, update=update)
        busybox_deb = packages.fetch(BUSYBOX, tell, update=update)
        kernel = _unpack_kernel(board, cache / "kernels", kernel_deb, tell)
        return _make(board, cache, kernel, busybox_deb, tell)


def _unpack_kernel(
    board: VirtualBoard, directory: Path, package: Path, tell: Callable[[str], None]
) -> tuple[Path, _Kernel]:
    """Take the kernel, the device tree and the modules out of a package, once."""
    wanted = board.description
    key = hashlib.sha256(
        f"{sha256_of(package)} {wanted.dtb} {wanted.modules}".encode()
    ).hexdigest()[:16]
    here = directory / key
    note = here / "kernel.json"
    if note.exists():
        return here, msgspec.json.decode(note.read_bytes(), type=_Kernel)
    tell(f"unpacking {package.name.split('_')[0]}")
    fresh = directory / f"{key}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    builtin: set[str] = set()
    release, found = "", set()
    with contents(package) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            if not member.isfile() or member.size > MAX_FILE:
                continue
            module = path.name.partition(".ko")[0].replace("-", "_")
            if path.match("boot/vmlinuz-*"):
                release = path.name.removeprefix("vmlinuz-")
                (fresh / "vmlinuz").write_bytes(_data(tar, member))
            elif path.name == "modules.builtin":
                builtin = {
                    PurePosixPath(line).name.partition(".ko")[0].replace("-", "_")
                    for line in _data(tar, member).decode().splitlines()
                }
            elif wanted.dtb and str(path).endswith("/" + wanted.dtb):
                (fresh / "board.dtb").write_bytes(_data(tar, member))
            elif ".ko" in path.name and module in wanted.modules:
                data = _data(tar, member)
                packed = path.suffix == ".xz"
                (fresh / f"{module}.ko").write_bytes(lzma.decompress(data) if packed else data)
                found.add(module)
    absent = [m for m in wanted.modules if m not in found | builtin]
    if not release or absent:
        raise LabError(
            f"{package.name} has no {f'module {absent[0]}' if absent else 'kernel'}: "
            f"the description of {board.machine} does not fit this version"
        )
    if wanted.dtb and not (fresh / "board.dtb").exists():
        raise LabError(f"{package.name} has no device tree {wanted.dtb}")
    kernel = _Kernel(
        release,
        sha256_of(fresh / "vmlinuz"),
        sha256_of(fresh / "board.dtb") if wanted.dtb else None,
        [m for m in wanted.modules if m in found],
    )
    (fresh / "kernel.json").write_bytes(msgspec.json.encode(kernel))
    shutil.rmtree(here, ignore_errors=True)
    fresh.rename(here)
    return here, kernel


def _data(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None  # noqa: S101 - a plain file
    return file.read()


def _busybox(package: Path) -> bytes:
    with contents(package) as tar:
        for member in tar:
            if member.isfile() and PurePosixPath(member.name).name == "busybox":
                return _data(tar, member)
    raise LabError(f"{package.name} has no busybox")


def _make(
    board: VirtualBoard,
    cache: Path,
    unpacked: tuple[Path, _Kernel],
    busybox_deb: Path,
    tell: Callable[[str], None],
) -> Image:
    """Make the initial RAM file system, named after the hash of all that goes into it."""
    here, kernel = unpacked
    try:
        probe = probe_binary(board.description.arch)
    except NoProbeError as error:
        raise LabError(str(error)) from None
    inputs = hashlib.sha256()
    for text in (board.name, kernel.kernel, kernel.dtb or "", sha256_of(busybox_deb), probe.sha256,
                 board.description.port, *kernel.modules):  # fmt: skip
        inputs.update(text.encode() + b"\0")
    for name in ("init", "on-port"):
        inputs.update((FILES / "image" / name).read_bytes() + b"\0")
    inputs.update(sha256_of(Path(__file__)).encode())
    key = inputs.hexdigest()
    initrd = cache / "images" / board.name / f"{key[:16]}.cpio.gz"
    if not initrd.exists():
        tell(f"making the image of {board.name}")
        archive = Archive()
        archive.directory("dev")
        # The kernel opens it for init's first words, before init has mounted devtmpfs.
        archive.device("dev/console", 5, 1)
        archive.file("bin/busybox", _busybox(busybox_deb), 0o755)
        archive.file("init", (FILES / "image" / "init").read_bytes(), 0o755)
        archive.file(ON_PORT[1:], (FILES / "image" / "on-port").read_bytes(), 0o755)
        archive.file(PROBE[1:], probe.path.read_bytes(), 0o755)
        archive.file("whylate/name", board.name.encode())
        archive.file("whylate/port", board.description.port.encode())
        for module in kernel.modules:
            archive.file(f"lib/modules/{module}.ko", (here / f"{module}.ko").read_bytes())
        archive.file("lib/modules/order", "".join(f"{m}\n" for m in kernel.modules).encode())
        _replace_images(initrd, gzip.compress(archive.pack(), 6, mtime=0))
    dtb = here / "board.dtb" if kernel.dtb else None
    return Image(here / "vmlinuz", initrd, dtb, kernel.release, key)


def _replace_images(initrd: Path, data: bytes) -> None:
    """Write a new image and remove the ones that it replaces, which a running board has read."""
    initrd.parent.mkdir(parents=True, exist_ok=True)
    for old in initrd.parent.iterdir():
        old.unlink()
    fresh = initrd.with_suffix(".new")
    # Padded, so that a plan can be appended: see whylate.lab.initramfs.
    fresh.write_bytes(data + b"\0" * (-len(data) % 4))
    fresh.replace(initrd)
