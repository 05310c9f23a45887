"""What is read of a root for a virtual board: nothing of it is trusted."""

from __future__ import annotations

import io
import lzma
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from own_roots import write_tarball
from whylate.lab.errors import LabError
from whylate.lab.roots import read
from whylate.lab.roots.prepare import root_sum
from whylate.lab.roots.read import read_root

RELEASE = "6.1.0-7-test"
MODULES = f"usr/lib/modules/{RELEASE}"
KERNEL: dict[str, bytes | str] = {f"boot/vmlinuz-{RELEASE}": b"kernel"}
WANTED = frozenset({"virtio_mmio", "virtio_console"})


def read_files(tmp_path: Path, files: Mapping[str, bytes | str]) -> read.Root:
    return read_root(write_tarball(tmp_path / "root.tar", files), WANTED)


def write_member(path: Path, member: tarfile.TarInfo, data: bytes = b"") -> Path:
    member.size = len(data)
    with tarfile.open(path, "w") as tar:
        tar.addfile(member, io.BytesIO(data))
    return path


def test_kernel_words_device_tree_and_modules_are_read(tmp_path: Path) -> None:
    root = read_files(
        tmp_path,
        KERNEL
        | {
            "./boot/cmdline.txt": b"quiet  a.b=1\n",
            "boot/board.dtb": b"tree",
            f"{MODULES}/kernel/drivers/virtio-mmio.ko.xz": lzma.compress(b"module"),
            f"{MODULES}/modules.builtin": b"kernel/drivers/char/virtio_console.ko\n",
            "lib/modules/other/kernel/virtio_mmio.ko": b"of another kernel",
        },
    )
    assert (root.release, root.words, root.device_tree) == (RELEASE, ("quiet", "a.b=1"), b"tree")
    assert root.module("virtio_mmio") == b"module"
    assert root.module("virtio_console") is None
    with pytest.raises(LabError, match="has no module virtio_net"):
        root.module("virtio_net")


def test_the_kernel_takes_no_room_in_the_boards_memory(tmp_path: Path) -> None:
    packed = read_files(tmp_path, KERNEL | {"etc/hostname": b"kept"}).files.pack()
    assert b"kept" in packed
    assert b"vmlinuz" not in packed


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"../etc/passwd": b""}, "outside of it"),
        ({"a/../../b": b""}, "outside of it"),
        ({"whylate/init": b"#!"}, "where whylate's own go"),
        ({"whylate": "/etc"}, "where whylate's own go"),
        ({"boot/cmdline.txt": b"a\nb\n"}, "one line of at most"),
        ({"boot/cmdline.txt": b"x" * 1001}, "one line of at most"),
        ({"boot/cmdline.txt": b"a \x1b[2J"}, r"\\x1b\[2J is no kernel argument"),
        ({"boot/board.dtb": bytes(3 << 20)}, "more than 2 MiB"),
    ],
)
def test_what_no_board_should_boot_is_refused(
    tmp_path: Path, files: dict[str, bytes | str], reason: str
) -> None:
    with pytest.raises(LabError, match=reason) as error:
        read_files(tmp_path, KERNEL | files)
    assert "\n" not in str(error.value)


def test_a_root_has_exactly_one_kernel(tmp_path: Path) -> None:
    for files in ({"a": b""}, KERNEL | {"boot/vmlinuz-2": b""}):
        with pytest.raises(LabError, match="exactly one kernel"):
            _ = read_files(tmp_path, files).release


@pytest.mark.parametrize("target", ["../../etc/shadow", "/etc/absent"])
def test_a_hard_link_that_leads_out_is_refused(tmp_path: Path, target: str) -> None:
    member = tarfile.TarInfo("link")
    member.type, member.linkname = tarfile.LNKTYPE, target
    with pytest.raises(LabError, match=r"outside of it|no file of it"):
        read_root(write_member(tmp_path / "root.tar", member), WANTED)


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "MAX_TOTAL", 100)
    monkeypatch.setattr(read, "MAX_ENTRIES", 5)
    read_files(tmp_path, {"a": bytes(100)})
    with pytest.raises(LabError, match="more than 5 files or"):
        read_files(tmp_path, {"a": bytes(101)})
    with pytest.raises(LabError, match="more than 5 files or"):
        read_files(tmp_path, {str(number): b"" for number in range(6)})


def test_a_module_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    files = KERNEL | {f"{MODULES}/virtio_mmio.ko.xz": lzma.compress(bytes(33 << 20))}
    with pytest.raises(LabError, match="module virtio_mmio has more than 32 MiB"):
        read_files(tmp_path, files).module("virtio_mmio")
    files = KERNEL | {f"{MODULES}/virtio_mmio.ko.xz": b"\xfd7zXZ\0broken"}
    with pytest.raises(LabError, match="virtio_mmio: it cannot be unpacked"):
        read_files(tmp_path, files).module("virtio_mmio")


def test_what_is_no_tarball_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no tarball\n" * 100)
    with pytest.raises(LabError, match="cannot be read as a tarball"):
        read_root(tmp_path / "text", WANTED)
    with pytest.raises(LabError, match="is a directory: a virtual board takes a tarball"):
        root_sum(tmp_path)
    with pytest.raises(LabError, match="is not a file"):
        root_sum(Path("/dev/zero"))
    with pytest.raises(LabError, match="cannot be read: No such file"):
        root_sum(tmp_path / "absent")
