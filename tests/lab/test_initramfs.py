"""Initial RAM file systems, held against the cpio program's own reading of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from whylate.lab.initramfs import Archive

needs_cpio = pytest.mark.skipif(shutil.which("cpio") is None, reason="cpio is not here")


def example() -> Archive:
    archive = Archive()
    archive.file("bin/tool", b"\x7fELF" + b"x" * 1001, 0o755)
    archive.file("etc/deep/er/name", b"")
    archive.link("bin/other", "tool")
    archive.directory("run", 0o700)
    return archive


def test_the_same_content_gives_the_same_bytes() -> None:
    assert example().pack() == example().pack()


def test_an_archive_ends_where_another_may_begin() -> None:
    for size in range(9):
        archive = Archive()
        archive.file("f", b"x" * size)
        assert len(archive.pack()) % 4 == 0


@needs_cpio
def test_cpio_unpacks_what_was_packed(tmp_path: Path) -> None:
    subprocess.run(["cpio", "-id", "--quiet"], input=example().pack(), cwd=tmp_path, check=True)
    assert (tmp_path / "bin/tool").read_bytes() == b"\x7fELF" + b"x" * 1001
    assert (tmp_path / "bin/tool").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "bin/other").readlink() == Path("tool")
    assert (tmp_path / "etc/deep/er/name").read_bytes() == b""
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700


def test_a_directory_is_named_before_what_lies_in_it() -> None:
    packed = example().pack()
    assert packed.index(b"etc\0") < packed.index(b"etc/deep\0") < packed.index(b"etc/deep/er/name")
