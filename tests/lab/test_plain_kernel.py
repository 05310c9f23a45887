"""A kernel that need not unpack itself: found in the packed one, and booted in virtual time."""

from __future__ import annotations

import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from whylate.boards.qemu.arguments import Start, arguments
from whylate.lab.description import virtual_board
from whylate.lab.image import Image, elf_of
from whylate.lab.qemu import Qemu

ELF = b"\x7fELF" + bytes(60) + b"Xen\0" + bytes(2000)
IMAGE = Image(Path("/k/vmlinuz"), Path("/k/initrd"), None, "6.1", "0" * 64)


def test_it_is_found_wherever_it_lies_in_the_packed_one() -> None:
    packed = b"MZ" + bytes(21_000) + lzma.compress(ELF) + b"what follows"
    assert elf_of(packed) == ELF


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"MZ" + bytes(100),
        b"MZ" + lzma.compress(b"no kernel"),
        b"MZ" + lzma.compress(ELF.replace(b"Xen\0", b"None")),
        b"MZ" + lzma.compress(ELF)[:40],
        b"MZ\xfd7zXZ\0 that is not xz",
    ],
)
def test_what_holds_none_is_booted_as_it_is(packed: bytes) -> None:
    assert elf_of(packed) is None


@pytest.mark.parametrize("output", [Path("/run/port"), None])
@pytest.mark.parametrize("plain", [Path("/k/vmlinux"), None])
def test_it_is_booted_in_both_times(output: Path | None, plain: Path | None) -> None:
    image = replace(IMAGE, plain_kernel=plain)
    start = Start(cpus=1, directory=Path("/run"), output=output)
    words = arguments(
        virtual_board("pc"), Qemu(("qemu",), (10, 0)), image, Path("/k/initrd"), start
    )
    assert words[words.index("-kernel") + 1] == str(plain or "/k/vmlinuz")
