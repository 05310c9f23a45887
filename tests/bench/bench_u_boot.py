"""A whole board with a boot loader: Debian's U-Boot in QEMU, and a disk with extlinux.conf."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench_boards import put_probe

from whylate.boards.board import notify_nobody
from whylate.lab.cache import cache_directory
from whylate.lab.description import virtual_board
from whylate.lab.errors import LabError
from whylate.lab.image import Image, build, is_fetched
from whylate.lab.initramfs import Archive
from whylate.lab.packages import Packages, contents, read_member
from whylate.lab.qemu import find_qemu

#: Where Debian's package u-boot-qemu has it.
INSTALLED = Path("/usr/lib/u-boot/qemu_arm64/u-boot.bin")
STANDARD, RT = virtual_board("virt-arm64"), virtual_board("virt-arm64-rt")
#: What reads the disk, in the order in which it is loaded.
MODULES = ("virtio_blk", "crc16", "crc32c_generic", "mbcache", "jbd2", "ext4")
MIB = 1 << 20
#: The board's partition begins here.
START = MIB
#: The words of the board's own entry.
OWN = "console=ttyAMA0 panic=-1"
RT_KERNEL, RT_INITRD = "vmlinuz-rt", "initrd-rt.img"
CONF = """# kept by hand, do not touch
TIMEOUT 1
DEFAULT linux
LABEL linux
    MENU LABEL Debian
    LINUX /vmlinuz
    INITRD ../initrd.img
    APPEND {words}
"""


def why_no_u_boot() -> str:
    """Return what is missing on this machine, or ""."""
    if find_qemu(STANDARD) is None:
        return f"needs {STANDARD.description.qemu}"
    for board in (STANDARD, RT):
        if not is_fetched(board):
            return f"needs the image of {board.name}: whylate lab build"
    try:
        u_boot(Path("/nonexistent"), fetch_only=True)
    except LabError as error:
        return f"needs the package u-boot-qemu: {error}"
    return ""


def u_boot(directory: Path, *, fetch_only: bool = False) -> Path:
    """Return U-Boot for QEMU's arm64 board; raises LabError."""
    if INSTALLED.exists():
        return INSTALLED
    package = Packages(cache_directory() / "packages", "arm64").fetch("u-boot-qemu", notify_nobody)
    path = directory / "u-boot.bin"
    if fetch_only:
        return path
    _member(package, "qemu_arm64/u-boot.bin", path)
    return path


def kernel_deb(board_name: str) -> Path:
    board = virtual_board(board_name)
    packages = Packages(cache_directory() / "packages", "arm64")
    name = packages.dependency(board.kernel_package, "linux-image-", notify_nobody)
    return packages.fetch(name, notify_nobody)


def initrd_for(board_name: str, files: dict[str, str] | None = None) -> bytes:
    """Return an initial file system that has the disk's partition at /boot."""
    image: Image = build(virtual_board(board_name), notify_nobody)
    archive = Archive()
    wanted = dict.fromkeys(MODULES, b"")
    with contents(kernel_deb(board_name)) as tar:
        for member in tar:
            name = Path(member.name).name.removesuffix(".ko")
            if member.isfile() and name in wanted and member.name.endswith(".ko"):
                wanted[name] = read_member(tar, member)
    for name, data in wanted.items():
        archive.file(f"lib/disk/{name}.ko", data)
    script = "".join(f"insmod /lib/disk/{name}.ko\n" for name in MODULES)
    script += "mkdir -p /boot\nmount -t ext4 /dev/vda1 /boot\n"
    script += put_probe(STANDARD)
    archive.file("whylate/services", script.encode())
    for path, text in (files or {}).items():
        archive.file(path, text.encode(), 0o755)
    return image.initrd.read_bytes() + archive.pack()


def disk(directory: Path, size: int = 160 * MIB, words: str = OWN, *, rt: bool = False) -> Path:
    """Make a disk with a kernel, its initrd and extlinux.conf in one bootable partition.

    rt: with another kernel, and the initrd of that: RT_KERNEL and RT_INITRD.
    """
    tree = directory / "tree"
    boot = tree
    (boot / "extlinux").mkdir(parents=True)
    (boot / "vmlinuz").write_bytes(build(STANDARD, notify_nobody).kernel.read_bytes())
    (boot / "initrd.img").write_bytes(initrd_for(STANDARD.name))
    if rt:
        (boot / RT_KERNEL).write_bytes(build(RT, notify_nobody).kernel.read_bytes())
        (boot / RT_INITRD).write_bytes(initrd_for(RT.name))
    (boot / "extlinux" / "extlinux.conf").write_text(CONF.format(words=words))
    return disk_of(directory / "disk.img", tree, size)


def disk_of(path: Path, tree: Path, size: int) -> Path:
    """Make a disk with one bootable ext4 partition that has the files of a directory."""
    with path.open("wb") as file:
        file.truncate(size)
        sectors = (size - START) // 512
        entry = bytes([0x80, 0xFE, 0xFF, 0xFF, 0x83, 0xFE, 0xFF, 0xFF])
        entry += (START // 512).to_bytes(4, "little") + sectors.to_bytes(4, "little")
        file.seek(446)
        file.write(entry)
        file.seek(510)
        file.write(b"\x55\xaa")
    subprocess.run(
        ["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^metadata_csum,^64bit",
         "-E", f"offset={START}", "-d", tree, path, f"{(size - START) // 1024}k"],
        check=True, capture_output=True,
    )  # fmt: skip
    return path


def qemu_command(directory: Path, disk_path: Path, more: Sequence[str] = ()) -> list[str]:
    """QEMU with U-Boot: its console is a socket in `directory`."""
    qemu = find_qemu(STANDARD)
    assert qemu is not None
    return [
        *qemu.command, "-M", "virt", "-cpu", "cortex-a72", "-smp", "1", "-m", "512M",
        "-bios", str(u_boot(directory)),
        "-drive", f"file={disk_path},if=none,id=disk,format=raw,cache=writethrough",
        "-device", "virtio-blk-device,drive=disk",
        "-nodefaults", "-no-user-config", "-display", "none",
        "-chardev", f"socket,id=console,path={directory}/console,server=on,wait=off",
        "-serial", "chardev:console", *more,
    ]  # fmt: skip


def _member(package: Path, end: str, path: Path) -> None:
    with contents(package) as tar:
        for member in tar:
            if member.isfile() and member.name.endswith(end):
                path.write_bytes(read_member(tar, member))
                return
    raise LabError(f"{package.name} has no {end}")


def files_on(disk_path: Path) -> dict[str, str]:
    """Return the files below extlinux and /whylate of a disk, and their hashes."""
    offset = f"{disk_path}?offset={START}"
    listing = _debugfs(offset, "ls -p /").decode()
    top = [line.split("/")[5] for line in listing.splitlines() if line.count("/") >= 6]
    names = [name for name in top if name not in (".", "..", "lost+found", "")]
    conf = _debugfs(offset, "cat /extlinux/extlinux.conf")
    return {"/": " ".join(sorted(names)), "extlinux.conf": hashlib.sha256(conf).hexdigest()}


def _debugfs(device: str, request: str) -> bytes:
    return subprocess.run(
        ["debugfs", "-R", request, device], check=True, capture_output=True
    ).stdout
