"""What a virtual board boots: a kernel, an initial RAM file system, perhaps a device tree."""

from __future__ import annotations

import hashlib
import lzma
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import msgspec

from whylate.files import sha256_of
from whylate.lab.cache import building, cache_directory
from whylate.lab.description import FILES, Description, VirtualBoard
from whylate.lab.device_tree import with_property
from whylate.lab.errors import LabError
from whylate.lab.initramfs import Archive
from whylate.lab.packages import contents, packages_of, read_member
from whylate.lab.sums import cached_sha256
from whylate.probe.binaries import NoProbeError, probe_binary

BUSYBOX = "busybox-static"
#: Larger files in a package are skipped.
MAX_FILE = 256 << 20
#: Paths on the board.
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
    #: The same kernel as an ELF file that need not unpack itself, or None.
    plain_kernel: Path | None = None
    #: Words of its own for the kernel's command line, and its first process; "": /init.
    words: tuple[str, ...] = ()
    init: str = ""


class _Kernel(msgspec.Struct, frozen=True):
    """What was extracted from a kernel package."""

    release: str
    kernel: str
    dtb: str | None
    modules: list[str]
    plain: bool


def is_fetched(board: VirtualBoard) -> bool:
    """Return whether all packages of a board are cached, so that its image needs no network."""
    packages = packages_of(board, cache_directory())
    return packages.has(board.kernel_package) and packages.has(BUSYBOX)


def build(board: VirtualBoard, notify: Callable[[str], None], *, update: bool = False) -> Image:
    """Return a board's image, built where anything in it changed; raises LabError.

    Fetches missing packages. update: look for newer packages first.
    """
    cache = cache_directory()
    with building(cache):
        packages = packages_of(board, cache)
        package = packages.dependency(board.kernel_package, "linux-image-", notify, update=update)
        kernel_deb = packages.fetch(package, notify, update=update)
        busybox_deb = packages.fetch(BUSYBOX, notify, update=update)
        kernel = _unpack_kernel(board, cache / "kernels", kernel_deb, notify)
        return _make(board, cache, kernel, busybox_deb, notify)


def _unpack_kernel(
    board: VirtualBoard, directory: Path, package: Path, notify: Callable[[str], None]
) -> tuple[Path, _Kernel]:
    """Extract the kernel, the device tree and the modules from a package, once."""
    wanted = board.description
    inputs = (cached_sha256(package), wanted.dtb, wanted.dtb_set, wanted.all_modules, "plain")
    key = hashlib.sha256(" ".join(map(str, inputs)).encode()).hexdigest()[:16]
    here = directory / key
    note = here / "kernel.json"
    if note.exists():
        return here, msgspec.json.decode(note.read_bytes(), type=_Kernel)
    notify(f"unpacking {package.name.split('_')[0]}")
    fresh = directory / f"{key}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    extracted = _Extracted(wanted, fresh)
    with contents(package) as tar:
        for member in tar:
            if member.isfile() and member.size <= MAX_FILE:
                extracted.add(tar, member)
    extracted.check(package.name, board.machine)
    kernel = _Kernel(
        extracted.release,
        sha256_of(fresh / "vmlinuz"),
        sha256_of(fresh / "board.dtb") if wanted.dtb else None,
        [m for m in wanted.all_modules if m in extracted.modules],
        extracted.plain,
    )
    (fresh / "kernel.json").write_bytes(msgspec.json.encode(kernel))
    shutil.rmtree(here, ignore_errors=True)
    fresh.rename(here)
    return here, kernel


@dataclass
class _Extracted:
    """What is extracted from a kernel package, file by file."""

    wanted: Description
    directory: Path
    release: str = ""
    plain: bool = False
    tree: bool = False
    modules: set[str] = field(default_factory=set)
    builtin: set[str] = field(default_factory=set)

    def add(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Extract a file if it is wanted; raises LabError."""
        path = PurePosixPath(member.name)
        # On riscv64 it is not compressed, and called so.
        if path.match("boot/vmlinuz-*") or path.match("boot/vmlinux-*"):
            self.release = path.name.partition("-")[2]
            data = read_member(tar, member)
            (self.directory / "vmlinuz").write_bytes(data)
            plain = elf_of(data) if self.wanted.arch == "x86_64" else None
            if plain is not None:
                (self.directory / "vmlinux").write_bytes(plain)
                self.plain = True
        elif path.name == "modules.builtin":
            lines = read_member(tar, member).decode().splitlines()
            self.builtin = {module_of(PurePosixPath(line)) for line in lines}
        elif self.wanted.dtb and str(path).endswith("/" + self.wanted.dtb):
            tree = read_member(tar, member)
            for node, properties in self.wanted.dtb_set.items():
                for name, value in properties.items():
                    tree = with_property(tree, node, name, value)
            (self.directory / "board.dtb").write_bytes(tree)
            self.tree = True
        elif ".ko" in path.name and module_of(path) in self.wanted.all_modules:
            data = read_member(tar, member)
            packed = path.suffix == ".xz"
            file = self.directory / f"{module_of(path)}.ko"
            file.write_bytes(lzma.decompress(data) if packed else data)
            self.modules.add(module_of(path))

    def check(self, package: str, machine: str) -> None:
        """Raise LabError where something is missing."""
        absent = [m for m in self.wanted.all_modules if m not in self.modules | self.builtin]
        what = f"module {absent[0]}" if absent else "" if self.release else "kernel"
        if self.wanted.dtb and not self.tree:
            what = f"device tree {self.wanted.dtb}"
        if what:
            raise LabError(
                f"{package} has no {what}: the description of {machine} does not fit this version"
            )


def elf_of(packed: bytes) -> bytes | None:
    """Return the ELF file to which an x86 kernel unpacks itself; None unless it is in xz.

    Unpacking takes an emulated processor longer than the rest of a boot. QEMU starts such a file by
    its PVH note (Linux: arch/x86/platform/pvh).
    """
    start = packed.find(b"\xfd7zXZ\0")
    if start < 0:
        return None
    try:
        elf = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(packed[start:], MAX_FILE)
    except lzma.LZMAError:
        return None
    return elf if elf.startswith(b"\x7fELF") and b"Xen\0" in elf else None


def module_of(path: PurePosixPath) -> str:
    """Return the kernel's name of the module in a file."""
    return path.name.partition(".ko")[0].replace("-", "_")


def busybox_of(package: Path) -> bytes:
    """Return the program of the package; raises LabError."""
    with contents(package) as tar:
        for member in tar:
            if member.isfile() and PurePosixPath(member.name).name == "busybox":
                return read_member(tar, member)
    raise LabError(f"{package.name} has no busybox")


def _make(
    board: VirtualBoard,
    cache: Path,
    unpacked: tuple[Path, _Kernel],
    busybox_deb: Path,
    notify: Callable[[str], None],
) -> Image:
    """Build the initial RAM file system, named after the hash of its inputs."""
    here, kernel = unpacked
    try:
        probe = probe_binary(board.description.arch)
    except NoProbeError as error:
        raise LabError(str(error)) from None
    inputs = hashlib.sha256()
    texts = [board.name, kernel.kernel, kernel.dtb or "", cached_sha256(busybox_deb), probe.sha256]
    for text in (*texts, board.description.port, *kernel.modules):
        inputs.update(text.encode() + b"\0")
    for name in ("init", "on-port", "fstab"):
        inputs.update((FILES / "image" / name).read_bytes() + b"\0")
    inputs.update(sha256_of(Path(__file__)).encode())
    key = inputs.hexdigest()
    initrd = cache / "images" / board.name / f"{key[:16]}.cpio"
    if not initrd.exists():
        notify(f"building the image of {board.name}")
        archive = Archive()
        for directory in ("dev", "proc", "root", "run", "sys", "tmp"):
            archive.directory(directory)
        # The kernel opens it for init's first words, before init has mounted devtmpfs.
        archive.device("dev/console", 5, 1)
        archive.file("bin/busybox", busybox_of(busybox_deb), 0o755)
        archive.file("init", (FILES / "image" / "init").read_bytes(), 0o755)
        archive.file(ON_PORT[1:], (FILES / "image" / "on-port").read_bytes(), 0o755)
        archive.file(PROBE[1:], probe.path.read_bytes(), 0o755)
        archive.file("etc/fstab", (FILES / "image" / "fstab").read_bytes())
        archive.file("whylate/name", f"{board.name}\n".encode())
        archive.file("whylate/port", f"{board.description.port}\n".encode())
        for module in kernel.modules:
            archive.file(f"lib/modules/{module}.ko", (here / f"{module}.ko").read_bytes())
        for name, wanted in (
            ("order", board.description.modules),
            ("network", board.description.network_modules),
        ):
            lines = "".join(f"{m}\n" for m in wanted if m in kernel.modules)
            archive.file(f"lib/modules/{name}", lines.encode())
        # Not compressed: QEMU copies it, and an emulated CPU would unpack it.
        _replace_images(initrd, archive.pack())
    dtb = here / "board.dtb" if kernel.dtb else None
    plain = here / "vmlinux" if kernel.plain else None
    return Image(here / "vmlinuz", initrd, dtb, kernel.release, key, plain)


def _replace_images(initrd: Path, data: bytes) -> None:
    """Write a new image and remove those that it replaces: running boards have read them."""
    initrd.parent.mkdir(parents=True, exist_ok=True)
    for old in initrd.parent.iterdir():
        old.unlink()
    fresh = initrd.with_suffix(".new")
    fresh.write_bytes(data)
    fresh.replace(initrd)
