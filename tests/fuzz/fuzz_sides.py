"""The sides of `whylate bisect diff`: a damaged root gives differences, or one clear line.

What is damaged: the text files of a root that are parsed (dpkg's database, extlinux.conf,
cmdline.txt, a kernel's configuration, units, sysctl.d), the headers of a tarball, plain and packed,
and the blocks of an ext4 image.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import lzma
import random
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import fuzz_case
from mutate import mutate

from whylate.bisect.differences.choose import Choice
from whylate.bisect.differences.find import find_differences
from whylate.bisect.differences.terminal import counts_table, not_compared_lines, tree_lines
from whylate.bisect.settings.from_differences import plan_text
from whylate.bisect.sides.errors import SideError
from whylate.bisect.sides.model import Side
from whylate.bisect.sides.read import read_side
from whylate.report.plain_console import plain_console
from whylate.run.errors import RequestError

_INFO = "var/lib/dpkg/info"
FILES = {
    "var/lib/dpkg/status": (
        "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.36-9\n"
        "Depends: libgcc-s1, libcrypt1 (>= 1:4.4.10-10)\nDescription: C library\n more of it\n\n"
        "Package: tool\nStatus: install ok installed\nArchitecture: all\nVersion: 1:2-3\n"
        "Depends: libc6 (= 2.36-9)\n\nPackage: gone\nStatus: deinstall ok config-files\n"
        "Version: 1\n\n"
    ),
    "var/lib/dpkg/status.d/base": "Package: base\nVersion: 12\n",
    f"{_INFO}/libc6:amd64.list": "/.\n/lib\n/lib/libc.so.6\n/lib/ld-linux.so\n",
    f"{_INFO}/tool.list": "/.\n/usr\n/usr/bin\n/usr/bin/tool\n",
    "usr/lib/opkg/status": "Package: busybox\nVersion: 1.36\nStatus: install user installed\n",
    "boot/extlinux/extlinux.conf": (
        "default l0\nlabel l0\n\tlinux /vmlinuz-6.1.0\n"
        "\tappend root=/dev/mmcblk0p2 quiet nosmt=no\n"
    ),
    "boot/cmdline.txt": "console=ttyS0,115200 isolcpus=2-3 root=/dev/sda1\n",
    "boot/config-6.1.0": "CONFIG_HZ=250\n# CONFIG_PREEMPT is not set\nCONFIG_CMDLINE=\"a b\"\n",
    "boot/vmlinuz-6.1.0": "no kernel",
    "lib/modules/6.1.0/kernel/a.ko": "module",
    "lib/modules/6.1.0/modules.dep": "kernel/a.ko: kernel/b.ko\n",
    "lib/libc.so.6": "libc", "lib/ld-linux.so": "loader", "usr/bin/tool": "#!/bin/sh\n",
    "etc/rc.local": "#!/bin/sh\necho always >/sys/kernel/mm/transparent_hugepage/enabled\nexit 0\n",
    "etc/sysctl.d/10.conf": "vm.swappiness = 10\nkernel.sched_rt_runtime_us=-1\n",
    "etc/systemd/system/a.service": "[Service]\nExecStart=/usr/bin/tool\nNice=-5\n",
    "etc/os-release": "ID=debian\nVERSION_ID=12\n", "etc/fstab": "/dev/sda1 / ext4 rw 0 1\n",
}  # fmt: skip
#: CPU seconds of a case.
CASE_S = 5.0
#: How large the image is, KiB.
_IMAGE = 512


def run(number: int, seconds: float, case: int | None = None) -> fuzz_case.Result:
    """Fuzz sides for some seconds."""
    with tempfile.TemporaryDirectory(dir=fuzz_case.fast_folder()) as folder:
        sides = SidesCase(Path(folder))
        return fuzz_case.fuzz(
            "sides", sides, number, seconds, lambda kept: kept.write_bytes(sides.data),
            case_s=CASE_S, only=case,
        )  # fmt: skip


def tarball(files: dict[str, bytes]) -> bytes:
    """Return a plain tarball of files, with a link, a hard link and a device."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for kind, name, target in (
            (tarfile.SYMTYPE, "lib64", "lib"), (tarfile.LNKTYPE, "usr/bin/also", "usr/bin/tool"),
            (tarfile.CHRTYPE, "dev/null", ""), (tarfile.SYMTYPE, "x" * 150, "y" * 150),
        ):  # fmt: skip
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
    return out.getvalue()


@functools.cache
def texts() -> dict[str, bytes]:
    """Return the files of the root."""
    return {name: text.encode() for name, text in FILES.items()}


@functools.cache
def image() -> bytes | None:
    """Return an ext4 image of the root; None where there is no mke2fs."""
    mke2fs = shutil.which("mke2fs", path="/usr/sbin:/sbin:/usr/bin")
    if mke2fs is None or shutil.which("debugfs", path="/usr/sbin:/sbin:/usr/bin") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        root, made = Path(folder) / "root", Path(folder) / "image"
        for name, data in texts().items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        (root / "lib64").symlink_to("lib")
        (root / "long").symlink_to("z" * 100)
        words: list[str | Path] = [
            mke2fs,
            "-q",
            "-t",
            "ext4",
            "-O",
            "^has_journal",
            "-b",
            "1024",
            "-d",
            root,
            made,
        ]
        subprocess.run([*words, f"{_IMAGE}k"], check=True, capture_output=True)
        return made.read_bytes()


@dataclass
class SidesCase:
    """A damaged side in a folder, and its bytes."""

    folder: Path
    data: bytes = b""
    whole: list[Side] = field(default_factory=list)

    def __post_init__(self) -> None:
        path = self.folder / "whole.tar"
        path.write_bytes(tarball(texts()))
        self.whole.append(read_side(str(path), lambda _: None))

    def __call__(self, chance: random.Random) -> int:
        where = chance.random()
        if where < 0.5:
            files = dict(texts())
            for _ in range(chance.choice([1, 1, 2, 4])):
                name = chance.choice(list(files))
                files[name] = mutate(chance, files[name], list(texts().values()))
            self.data = tarball(files)
        elif where < 0.8:
            self.data = self._damaged_tarball(chance)
        else:
            self.data = damaged_image(chance) or fuzz_case.damage(chance, tarball(texts()))
        path = self.folder / "side"
        path.write_bytes(self.data)
        with contextlib.suppress(SideError):
            self._compare(path, chance)
        return 1

    def _damaged_tarball(self, chance: random.Random) -> bytes:
        data = tarball(texts())
        packs: list[Callable[[bytes], bytes]] = [bytes, bytes, gzip.compress, lzma.compress]
        pack = chance.choice(packs)
        if chance.random() < 0.5:
            return fuzz_case.damage(chance, pack(data))
        raw = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(raw) // 512) * 512
            place, size = chance.choice([(0, 100), (100, 8), (124, 12), (156, 1), (157, 100)])
            field_at = at + place + chance.randrange(size)
            raw[field_at] = chance.choice([0, 0x2F, 0x2E, 0x37, 0x80, 0xFF, chance.randrange(256)])
            # A header whose checksum is wrong ends the archive.
            total = sum(raw[at : at + 148]) + 8 * 32 + sum(raw[at + 156 : at + 512])
            raw[at + 148 : at + 156] = b"%06o\0 " % total
        return pack(bytes(raw))

    def _compare(self, path: Path, chance: random.Random) -> None:
        """Read a side and compare it; what a user sees of a damaged one is a line."""
        try:
            side = read_side(str(path), lambda _: None)
        except SideError as error:
            fuzz_case.check_line(error)
            raise
        sides = [self.whole[0], side]
        chance.shuffle(sides)
        differences = find_differences(sides[0], sides[1], Choice((), (), ()))
        with contextlib.suppress(RequestError):
            plan_text(differences)
        with plain_console().capture() as _:
            plain_console().render_lines(counts_table(differences))
        for line in printed(differences):
            assert "\n" not in line, line
            assert "\x1b" not in line, line


def printed(differences: object) -> Iterator[str]:
    """Yield the lines that are printed of differences."""
    yield from tree_lines(differences, everything=True)  # type: ignore[arg-type]
    yield from not_compared_lines(differences)  # type: ignore[arg-type]


def damaged_image(chance: random.Random) -> bytes | None:
    """Return the image with a few bytes changed, most of them in its tables and directories."""
    data = image()
    if data is None:
        return None
    raw = bytearray(data)
    used = [at for at in range(0, len(raw), 64) if any(raw[at : at + 64])]
    for _ in range(chance.choice([1, 2, 4, 8, 40])):
        at = 1024 + chance.randrange(256) if chance.random() < 0.2 else chance.choice(used)
        at += chance.randrange(64)
        raw[at] = chance.choice([0, 1, 0x2F, 0x7F, 0x80, 0xFF, chance.randrange(256)])
    if chance.random() < 0.1:
        del raw[chance.randrange(2048, len(raw)) :]
    return bytes(raw)
