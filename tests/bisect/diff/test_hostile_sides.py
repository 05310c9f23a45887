"""What a side holds cannot do harm: odd names, loops, bombs, damaged files."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import random
import socket
import subprocess
import tarfile
from pathlib import Path

import pytest

from bisect_roots import make_image, write_root
from whylate.bisect.differences.find import find_differences
from whylate.bisect.differences.terminal import tree_lines
from whylate.bisect.sides import tarball
from whylate.bisect.sides.errors import SideError
from whylate.bisect.sides.image import read_image
from whylate.bisect.sides.read import read_side
from whylate.bisect.sides.tarball import read_tarball

ESCAPES = "etc/\x1b[2J\nnew \u202eline"
NO_UTF8 = os.fsdecode(b"etc/\xff\xfe")


def odd_root(root: Path) -> Path:
    """Write one of each thing that is no plain file, and of each odd name."""
    write_root(root, {ESCAPES: "x\n", NO_UTF8: "y\n", "etc/plain": "z\n", "etc/empty": ""})
    (root / "loop").symlink_to("loop")
    (root / "etc/up").symlink_to("../../../../etc/passwd")
    (root / "etc/long").symlink_to("a" * 200)
    (root / "etc/lines").symlink_to('two\nlines"\n')
    (root / "etc/self").symlink_to(".")
    os.mkfifo(root / "etc/fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "etc/socket"))
    (root / "etc/linked").hardlink_to(root / "etc/plain")
    with (root / "etc/sparse").open("wb") as sparse:
        sparse.truncate(50 << 20)
        sparse.seek(7 << 20)
        sparse.write(b"here")
    return root


def test_links_fifos_sockets_and_sparse_files_are_read_from_everything(tmp_path: Path) -> None:
    root = odd_root(tmp_path / "root")
    tar = tmp_path / "root.tar"
    # tar has no sockets.
    subprocess.run(["tar", "-C", root, "-cSf", tar, "--exclude=socket", "."], check=True)
    image = make_image(root, tmp_path / "root.ext4")
    directory = read_side(str(root), lambda _: None)
    for path in (image, tar):
        side = read_side(str(path), lambda _: None)
        listed = find_differences(directory, side).listed
        assert [difference.name for difference in listed] == (["etc/socket"] if path == tar else [])
    assert directory.tree is not None
    entries = directory.tree.entries
    assert entries["etc/up"].target == "../../../../etc/passwd"
    assert entries["etc/fifo"].type == "fifo"
    assert entries["etc/linked"].digest == entries["etc/plain"].digest
    assert NO_UTF8 in entries


def test_a_name_acts_on_no_terminal(tmp_path: Path) -> None:
    sides = [
        read_side(str(root), lambda _: None)
        for root in (odd_root(tmp_path / "a"), write_root(tmp_path / "b", {"etc/x": ""}))
    ]
    text = "\n".join(tree_lines(find_differences(sides[0], sides[1]), everything=True))
    assert "etc/\\x1b[2J new \\u202eline" in text
    assert "etc/\\udcff\\udcfe" in text
    assert text.replace("\n", "").isprintable()


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for member, content in members:
            tar.addfile(member, io.BytesIO(content))
    return path


def member(name: str, size: int = 0, **settings: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    for key, value in settings.items():
        setattr(info, key, value)
    return info


@pytest.mark.parametrize("name", ["../etc/passwd", "a/../../b", "/../x"])
def test_a_member_outside_of_the_root_is_refused(tmp_path: Path, name: str) -> None:
    tar = archive(tmp_path / "x.tar", (member(name), b""))
    with pytest.raises(SideError, match="outside of it"):
        read_tarball(tar)


def test_an_absolute_member_is_in_the_root(tmp_path: Path) -> None:
    tar = archive(tmp_path / "x.tar", (member("/etc/passwd", 1), b"x"))
    assert list(read_tarball(tar).entries) == ["etc/passwd"]


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tarball, "MAX_TOTAL", 4 << 20)
    zeros = b"\0" * (1 << 20)
    tar = archive(tmp_path / "x.tar", *((member(f"f{n}", len(zeros)), zeros) for n in range(8)))
    packed = tmp_path / "x.tar.gz"
    packed.write_bytes(gzip.compress(tar.read_bytes()))
    assert packed.stat().st_size < 100_000
    with pytest.raises(SideError, match="no root file system"):
        read_tarball(packed)


def test_a_member_of_exabytes_is_not_read(tmp_path: Path) -> None:
    # A sparse member without data claims any size.
    info = member("big")
    info.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.name": "big",
        "GNU.sparse.size": str(1 << 60),
        "GNU.sparse.map": "0,0",
    }
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info)
        tar.addfile(member("etc", type=tarfile.DIRTYPE))
    tree = read_tarball(path)
    assert (tree.entries["big"].size, tree.entries["big"].digest) == (1 << 60, None)
    assert tree.unread == {"too large": 1}
    assert "etc" in tree.entries


def test_a_header_that_is_a_bomb_is_refused(tmp_path: Path) -> None:
    # tarfile would read it into memory.
    bomb = member("x", 64 << 20, type=tarfile.XHDTYPE)
    path = tmp_path / "x.tar.xz"
    with lzma.open(path, "wb", preset=0) as file:
        file.write(bomb.tobuf())
        for _ in range(64):
            file.write(b"\0" * (1 << 20))
    with pytest.raises(SideError, match="header of 67108864 bytes"):
        read_tarball(path)


def test_a_hard_link_to_nothing_is_noted(tmp_path: Path) -> None:
    tar = archive(tmp_path / "x.tar", (member("a", type=tarfile.LNKTYPE, linkname="gone"), b""))
    side = read_side(str(tar), lambda _: None)
    assert "hard link to nothing" in side.notes[0]


@pytest.mark.parametrize(
    "content", [b"", b"short", b"\x1f\x8bnot gzip", b"\xfd7zXZ\0no xz", b"\x28\xb5\x2f\xfd!"]
)
def test_what_is_no_side_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(SideError, match=r"x (cannot be read|is no side|holds no file)"):
        read_side(str(path), lambda _: None)


def test_a_disk_and_a_fifo_are_named(tmp_path: Path) -> None:
    disk = tmp_path / "disk.img"
    disk.write_bytes(b"\0" * 510 + b"\x55\xaa" + b"\0" * 4096)
    with pytest.raises(SideError, match="whole disk"):
        read_side(str(disk), lambda _: None)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SideError, match="neither"):
        read_side(str(tmp_path / "fifo"), lambda _: None)


def test_without_debugfs_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = make_image(write_root(tmp_path / "root", {"a": ""}), tmp_path / "i.ext4", 8)
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(SideError, match="install e2fsprogs"):
        read_side(str(image), lambda _: None)


def test_a_debugfs_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = make_image(write_root(tmp_path / "root", {"a": ""}), tmp_path / "i.ext4", 8)
    hangs = tmp_path / "debugfs"
    hangs.write_text("#!/bin/sh\nexec sleep 1000\n")
    hangs.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("whylate.bisect.sides.image._LONGEST_S", 0.2)
    with pytest.raises(SideError, match="no answer"):
        read_image(image)


def test_a_damaged_image_or_archive_is_one_line_and_ends(tmp_path: Path) -> None:
    root = odd_root(tmp_path / "root")
    (root / "etc/sparse").unlink()
    image = make_image(root, tmp_path / "i.ext4", 2)
    tar = tmp_path / "i.tar"
    subprocess.run(["tar", "-C", root, "-cf", tar, "--exclude=socket", "."], check=True)
    numbers = random.Random(1)
    refused = 0
    damaged = tmp_path / "damaged"
    for original, read in ((image, read_image), (tar, read_tarball)):
        data = original.read_bytes()
        used = [at for at in range(0, len(data), 64) if any(data[at : at + 64])]
        for _ in range(40):
            changed = bytearray(data)
            for _ in range(numbers.randrange(1, 12)):
                at = numbers.choice(used) + numbers.randrange(64)
                changed[at % len(data)] = numbers.randrange(256)
            damaged.write_bytes(changed)
            try:
                read(damaged)
            except SideError:
                refused += 1
    assert refused > 10


def test_a_file_that_claims_more_than_there_is_ends_the_archive_at_once(tmp_path: Path) -> None:
    # tarfile would read 2^60 bytes in pieces, of a stream that is at its end.
    member = tarfile.TarInfo("etc/huge")
    member.size = 1 << 60
    path = tmp_path / "root.tar.gz"
    path.write_bytes(gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + b"data"))
    with pytest.raises(SideError, match="it ends within a file"):
        read_tarball(path)
