"""Small root file systems that virtual boards boot: a kernel of the lab, and busybox."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from whylate.lab.cache import building, cache_directory
from whylate.lab.description import virtual_board
from whylate.lab.image import BUSYBOX, build, busybox_of, is_fetched
from whylate.lab.packages import Packages

#: Of the tiny root's busybox.
APPLETS = ("sh", "echo", "cat", "dd", "sysctl", "touch", "tr", "true")


def write_tarball(path: Path, files: Mapping[str, bytes | str]) -> Path:
    """Write a tarball: bytes are the content of a file, a text the target of a link."""
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                tar.addfile(info)
                continue
            info.size = len(content)
            # Whatever begins like a program or a script is one.
            info.mode = 0o755 if content.startswith((b"#!", b"\x7fELF")) else 0o644
            tar.addfile(info, io.BytesIO(content))
    return path


def tiny_root(board: str = "virt-arm64") -> dict[str, bytes | str]:
    """Return the files of a root with the lab's kernel and a static busybox; skips without."""
    virtual = virtual_board(board)
    if not is_fetched(virtual):
        pytest.skip(f"the image of {board} is not here: make lab")
    with building(cache_directory()):
        image = build(virtual, lambda _: None)
        arch = virtual.description.debian_arch
        busybox = Packages(cache_directory() / "packages", arch).fetch(BUSYBOX, lambda _: None)
    modules = f"lib/modules/{image.release}"
    return {
        f"boot/vmlinuz-{image.release}": image.kernel.read_bytes(),
        "boot/cmdline.txt": b"quiet whylate.word=7\n",
        **{
            f"{modules}/kernel/{module.name}": module.read_bytes()
            for module in sorted(image.kernel.parent.glob("*.ko"))
        },
        "bin/busybox": busybox_of(busybox),
        **{f"bin/{applet}": "busybox" for applet in APPLETS},
    }
