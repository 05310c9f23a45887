"""Initial RAM file systems, held against the cpio program's own reading of them."""

from __future__ import annotations

import shutil
import stat
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


@needs_cpio
def test_owners_hard_links_and_pipes_are_kept(tmp_path: Path) -> None:
    archive = Archive()
    archive.hard_link("etc/none", "etc/absent")
    archive.file("etc/first", b"content", 0o640, (7, 8))
    assert archive.hard_link("etc/second", "etc/first")
    assert archive.hard_link("a/third", "etc/second")
    archive.node("run/pipe", stat.S_IFIFO | 0o600, owner=(1, 2))
    listed = subprocess.run(
        ["cpio", "-itvn", "--quiet"], input=archive.pack(), capture_output=True, check=True
    ).stdout.decode()
    fields = {line.split()[-1]: line.split()[:5] for line in listed.splitlines()}
    assert fields["etc/first"] == ["-rw-r-----", "3", "7", "8", "7"]
    assert fields["run/pipe"][:4] == ["prw-------", "1", "1", "2"]
    assert "etc/none" not in fields
    packed = archive.pack()
    subprocess.run(["cpio", "-id", "--quiet"], input=packed, cwd=tmp_path, check=True)
    assert (tmp_path / "a/third").samefile(tmp_path / "etc/first")
    assert (tmp_path / "a/third").read_bytes() == b"content"
    assert packed.count(b"content") == 1


@needs_cpio
def test_a_file_that_is_replaced_leaves_its_content_to_its_other_names(tmp_path: Path) -> None:
    archive = Archive()
    archive.file("first", b"old")
    archive.hard_link("second", "first")
    archive.hard_link("third", "first")
    archive.file("first", b"new")
    archive.file("third", b"own")
    subprocess.run(["cpio", "-id", "--quiet"], input=archive.pack(), cwd=tmp_path, check=True)
    contents = {name: (tmp_path / name).read_bytes() for name in ("first", "second", "third")}
    assert contents == {"first": b"new", "second": b"old", "third": b"own"}


@needs_cpio
def test_a_name_that_becomes_a_hard_link_of_a_later_file_is_one(tmp_path: Path) -> None:
    archive = Archive()
    archive.file("a", b"old")
    archive.file("b", b"content")
    archive.hard_link("a", "b")
    subprocess.run(["cpio", "-id", "--quiet"], input=archive.pack(), cwd=tmp_path, check=True)
    assert (tmp_path / "a").samefile(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == b"content"
