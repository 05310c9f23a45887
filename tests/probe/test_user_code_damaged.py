"""Damaged programs and libraries: each is read within its bounds."""

from __future__ import annotations

import random
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from user_code_files import PROGRAM, build, build_driver, places, usdt_note

pytestmark = pytest.mark.skipif(struct.calcsize("P") != 8, reason="damages 64-bit files")
SYMTAB, NOTE, DYNSYM = 2, 7, 11
VERSIONS = """
__attribute__((symver("play@OLD_1"))) int play_old(int n) { return n; }
__attribute__((symver("play@@NEW_2"))) int play_new(int n) { return n + 1; }
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_driver(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("program"), PROGRAM)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    (folder / "map").write_text("OLD_1 { global: play; };\nNEW_2 { global: play; } OLD_1;\n")
    return build(folder, VERSIONS, "-shared", "-fPIC", "-Wl,--version-script=map", name="libv.so")


@dataclass
class Elf:
    """A 64-bit file that can be changed."""

    data: bytearray

    @property
    def sections(self) -> list[tuple[int, tuple[int, ...]]]:
        """Where each header of a section is, and what it says."""
        (at,) = struct.unpack_from("<Q", self.data, 0x28)
        (count,) = struct.unpack_from("<H", self.data, 0x3C)
        return [
            (at + 64 * number, struct.unpack_from("<IIQQQQIIQQ", self.data, at + 64 * number))
            for number in range(count)
        ]

    def section(self, kind: int) -> tuple[int, int, int]:
        """Return where the header of the first section of that type is, its offset and its size."""
        header, fields = next(entry for entry in self.sections if entry[1][1] == kind)
        return header, fields[4], fields[5]

    def put(self, at: int, form: str, value: int) -> None:
        """Replace a number."""
        struct.pack_into(form, self.data, at, value)


def test_files_cut_anywhere_are_read_within_their_bounds(
    driver: Path, program: Path, tmp_path: Path
) -> None:
    data = program.read_bytes()
    cut = tmp_path / "cut"
    for size in [*range(0, 200, 7), *range(200, len(data), len(data) // 25)]:
        cut.write_bytes(data[:size])
        assert places(driver, cut, "decode_frame").startswith("error: "), size


@pytest.mark.parametrize("which", ["program", "library"])
def test_damaged_files_are_read_within_their_bounds(
    which: str, driver: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Numbers of headers, symbols, versions and notes, replaced by extreme ones."""
    data = request.getfixturevalue(which).read_bytes()
    regions = [(0, 64), *headers_of(data)]
    chance = random.Random(1)
    damaged = tmp_path / "damaged"
    extreme = (0, 1, 7, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1, len(data), 24)
    asked = (
        ("decode_frame", ""),
        ("whylate:frame_begin", "whylate:frame_end"),
        ("play@OLD_1", "0x1"),
    )
    for _ in range(150):
        copy = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            start, size = chance.choice(regions)
            width = chance.choice((1, 2, 4, 8))
            at = start + chance.randrange(max(size - width, 1))
            value = chance.choice(extreme) % (1 << 8 * width)
            copy[at : at + width] = value.to_bytes(width, "little")
        damaged.write_bytes(copy[: len(data)])
        begin, end = chance.choice(asked)
        places(driver, damaged, begin, end)


def headers_of(data: bytes) -> list[tuple[int, int]]:
    """Return offsets and sizes of the headers, and of what the probe reads."""
    (programs,) = struct.unpack_from("<Q", data, 0x20)
    (count,) = struct.unpack_from("<H", data, 0x38)
    sections = Elf(bytearray(data)).sections
    regions = [(programs, count * 56), (sections[0][0], 64 * len(sections))] * 3
    kinds = (2, 3, 7, 11, 0x6FFFFFFD, 0x6FFFFFFF)
    regions += [(fields[4], fields[5]) for _, fields in sections if fields[1] in kinds]
    return [(start, size) for start, size in regions if size]


@pytest.mark.parametrize(
    "notes",
    [
        usdt_note(b"p", b"a", 0, 0, 0)[:-4].replace(b"a\0", b"aa"),
        struct.pack("=III", 8, 4, 3) + b"stapsdt\0" + b"aaaa",
        struct.pack("=III", 8, 24, 3) + b"stapsdt\0" + b"a" * 24,
        struct.pack("=III", 8, 28, 3) + b"stapsdt\0" + b"a" * 28,
        struct.pack("=III", 8, 28, 3) + b"stapsdt\0" + b"a" * 25 + b"\0aa",
        struct.pack("=III", 8, 64, 3) + b"stapsdt\0" + b"a" * 28,
        struct.pack("=III", 0xFFFFFFFF, 28, 3) + b"stapsdt\0" + b"a" * 28,
        struct.pack("=III", 8, 0xFFFFFFFF, 3) + b"stapsdt\0" + b"a" * 28,
        struct.pack("=III", 64, 0, 3) + b"stapsdt\0",
        b"\0" * 40,
        b"aaa",
    ],
)
def test_damaged_notes_name_no_probe(
    notes: bytes, driver: Path, program: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes").write_bytes(notes)
    damaged = tmp_path / "damaged"
    update = f"--update-section=.note.stapsdt={tmp_path / 'notes'}"
    subprocess.run(["objcopy", update, program, damaged], check=True)
    assert "no USDT probe p:x; it has none" in places(driver, damaged, "p:x")


@pytest.mark.parametrize("kind", [SYMTAB, DYNSYM])
@pytest.mark.parametrize("beyond", [0, 1, 1000, 0xFFFFFFFF])
def test_a_table_of_symbols_without_names(
    kind: int, beyond: int, driver: Path, library: Path, tmp_path: Path
) -> None:
    elf = Elf(bytearray(library.read_bytes()))
    header, _, _ = elf.section(kind)
    elf.put(header + 40, "<I", min(len(elf.sections) + beyond, 0xFFFFFFFF))
    damaged = tmp_path / "damaged"
    damaged.write_bytes(elf.data)
    assert "its symbols cannot be read" in places(driver, damaged, "play")


def test_a_function_beyond_the_code_is_at_no_place(
    driver: Path, program: Path, tmp_path: Path
) -> None:
    elf = Elf(bytearray(program.read_bytes()))
    (headers,) = struct.unpack_from("<Q", elf.data, 0x20)
    parts = [struct.unpack_from("<IIQQQQQQ", elf.data, headers + 56 * i) for i in range(8)]
    code = next(part for part in parts if part[0] == 1 and part[1] & 1)
    _, offset, size = elf.section(SYMTAB)
    for at in range(offset, offset + size, 24):
        if elf.data[at + 4] & 15 == 2 and struct.unpack_from("<H", elf.data, at + 6)[0]:
            elf.put(at + 8, "<Q", code[3] + code[5])
    damaged = tmp_path / "damaged"
    damaged.write_bytes(elf.data)
    assert "no code of the file is at address" in places(driver, damaged, "decode_frame")


@pytest.mark.parametrize("field", [12, 16])  # vd_aux, vd_next
@pytest.mark.parametrize("value", [0, 1, 4, 20, 4096, 1 << 20, 0xFFFFFFFF])
def test_damaged_versions_are_read_within_their_bounds(
    field: int, value: int, driver: Path, library: Path, tmp_path: Path
) -> None:
    elf = Elf(bytearray(library.read_bytes()))
    _, offset, _ = elf.section(0x6FFFFFFD)
    elf.put(offset + field, "<I", value)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(elf.data)
    assert places(driver, damaged, "play@OLD_1").startswith(("entry ", "error: no function"))


def test_a_name_that_no_terminal_should_show_is_not_shown(
    driver: Path, program: Path, tmp_path: Path
) -> None:
    offset = int(places(driver, program, "decode_frame").split()[3].partition("/")[0], 16)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(program.read_bytes().replace(b"decode_frame\0", b"decode_\x1b[2J\xff\0"))
    for refused in (
        places(driver, damaged, f"{offset + 4:#x}"),
        places(driver, damaged, "decode"),
    ):
        assert refused.isprintable()
        assert refused.startswith("error: ")
