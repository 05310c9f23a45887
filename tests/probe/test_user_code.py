"""Places in programs and libraries: what the probe finds in real files, and in damaged ones."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from c_programs import ROOT, TARGETS, Target, absent, compile_c
from user_code_files import PROGRAM, SOURCES, build, build_driver, places, usdt_note

needs_readelf = pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_driver(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("program"), PROGRAM)


def offset_of(file: Path, symbol: str, *, dynamic: bool = False) -> int:
    """Return the offset in the file, by readelf."""
    text = subprocess.run(
        ["readelf", "-W", "-l", "--dyn-syms" if dynamic else "-s", str(file)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    match = re.search(rf"^ *\d+: ([0-9a-f]+) .* {re.escape(symbol)}$", text, re.MULTILINE)
    assert match is not None
    return offset_at(text, int(match[1], 16))


def offset_at(headers: str, address: int) -> int:
    for part in re.findall(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ ([RWE ]+)", headers):
        offset, start, size = (int(number, 16) for number in part[:3])
        if start <= address < start + size:
            return offset + address - start
    raise AssertionError(f"{address:#x} is not loaded")


def notes_of(file: Path, name: str) -> list[int]:
    """Return the offsets of a USDT probe, by readelf."""
    text = subprocess.run(
        ["readelf", "-W", "-n", "-l", str(file)], capture_output=True, text=True, check=True
    ).stdout
    found = re.findall(rf"Name: {name}\n *Location: 0x(\w+)", text)
    return [offset_at(text, int(address, 16)) for address in found]


# ---------------------------------------------------------------- functions


@needs_readelf
@pytest.mark.parametrize("flags", [("-fPIE", "-pie"), ("-fno-pie", "-no-pie"), ("-static",)])
def test_a_function_is_where_readelf_says(
    flags: tuple[str, ...], driver: Path, tmp_path: Path
) -> None:
    file = build(tmp_path, PROGRAM, *flags)
    offset = offset_of(file, "decode_frame")
    found = places(driver, file, "decode_frame")
    assert re.fullmatch(rf"entry [0-8] begin {offset:#x}/0x0 end", found)
    pair = places(driver, file, "decode_frame", "decode_header")
    assert pair.startswith("pair ")
    assert f"end {offset_of(file, 'decode_header'):#x}/" in pair
    assert places(driver, file, f"{offset:#x}") == found


@needs_readelf
@pytest.mark.parametrize("name", list(TARGETS))
def test_each_architecture_has_functions_and_marks(name: str, driver: Path, tmp_path: Path) -> None:
    target = TARGETS[name]
    if (tool := absent(target)) is not None:
        pytest.skip(f"{tool} is not installed")
    flags = ["-marm"] if name == "armv7" else []
    file = build(tmp_path, PROGRAM, *flags, compiler=target.compiler)
    command = emulated(target, tmp_path, driver)
    offset = offset_of(file, "decode_frame")
    assert f" begin {offset:#x}/0x0 end" in places(command, file, "decode_frame")
    begin, end = (notes_of(file, f"frame_{which}") for which in ("begin", "end"))
    # A compiler may make one of two ends that are alike.
    assert len(begin) == 1
    assert len(end) in (1, 2)
    marks = places(command, file, "whylate:frame_begin", "whylate:frame_end")
    assert marks.startswith("pair ")
    lists = (" ".join(f"{offset:#x}/0x0" for offset in offsets) for offsets in (begin, end))
    assert marks.endswith(" begin {} end {}".format(*lists))


def emulated(target: Target, folder: Path, driver: Path) -> Sequence[str | Path]:
    if not target.emulator:
        return [driver]
    built = compile_c(target.compiler, "user_code", SOURCES, folder, ["-static"])
    return [*target.emulator, built]


def test_thumb_code_is_refused(tmp_path: Path, driver: Path) -> None:
    target = TARGETS["armv7"]
    if (tool := absent(target)) is not None:
        pytest.skip(f"{tool} is not installed")
    text = PROGRAM.replace("WHYLATE_SECTION_", "//").replace('#include "whylate_section.h"', "")
    text = text.replace("if (n == 7) { //", "if (n == 7) {\n//").replace("; return 1; }", ";\n}")
    file = build(tmp_path, text, "-mthumb", compiler=target.compiler)
    command = emulated(target, tmp_path, driver)
    assert "decode_frame is Thumb code" in places(command, file, "decode_frame")
    assert "it is of another architecture" in places(driver, file, "decode_frame")
    marked = subprocess.run(
        [target.compiler, "-mthumb", f"-I{ROOT / 'include'}", "-x", "c", "-c", "-", "-o", "m"],
        input=PROGRAM, text=True, capture_output=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert "compile with -marm" in marked.stderr


def test_what_a_file_lacks_is_said_with_what_to_do(driver: Path, program: Path) -> None:
    assert "no function inlined: it may be inlined" in places(driver, program, "inlined")
    similar = places(driver, program, "decode")
    assert re.search(
        r"with that word: decode_(frame, decode_header|header, decode_frame)$", similar
    )
    assert "no USDT probe whylate:x; it has whylate:frame_begin, whylate:frame_end" in (
        places(driver, program, "whylate:x")
    )
    assert "no code is at offset 0x7fffffff" in places(driver, program, "0x7fffffff")
    assert "is not within it" in places(driver, program, "decode_frame+0x1000", "decode_frame")
    assert "write FUNCTION+0xBYTES" in places(driver, program, "decode_frame+16")
    assert "No such file" in places(driver, program / "none", "x") or "Not a directory" in (
        places(driver, program / "none", "x")
    )
    assert "it is no file" in places(driver, program.parent, "x")
    assert "it is no ELF file" in places(driver, program.with_suffix(".c"), "x")
    assert "in none of the folders" in places(driver, "no-such-library.so.1", "x")


def test_what_is_not_a_functions_entry_has_no_return(driver: Path, program: Path) -> None:
    refused = places(driver, program, "decode_frame+0x4")
    assert "is within decode_frame, not where it begins" in refused
    offset = offset_of(program, "decode_frame")
    assert "is within decode_frame" in places(driver, program, f"{offset + 4:#x}")
    pair = places(driver, program, f"{offset:#x}", f"{offset + 4:#x}")
    assert f" begin {offset:#x}/0x0 end {offset + 4:#x}/0x0" in pair


def test_a_place_to_itself_is_one_program(driver: Path, program: Path) -> None:
    assert places(driver, program, "decode_frame", "decode_frame").startswith("next ")
    assert places(driver, program, "whylate:frame_begin").startswith("next ")


def test_a_stripped_library_has_what_it_exports(driver: Path, tmp_path: Path) -> None:
    text = PROGRAM.replace("decode_header", "hidden_header").replace(
        "__attribute__((noinline)) int hidden", "static __attribute__((noinline)) int hidden"
    )
    file = build(tmp_path, text, "-shared", "-fPIC", "-s", name="libp.so")
    offset = offset_of(file, "decode_frame", dynamic=True)
    assert f" begin {offset:#x}/0x0" in places(driver, file, "decode_frame")
    assert "it is stripped: use a build with symbols" in places(driver, file, "hidden_header")
    assert places(driver, file, "whylate:frame_begin", "whylate:frame_end").startswith("pair ")


def test_versions_of_a_name_are_told_by_their_names(driver: Path, tmp_path: Path) -> None:
    text = """
    __attribute__((symver("play@OLD_1"))) int play_old(int n) { return n; }
    __attribute__((symver("play@@NEW_2"))) int play_new(int n) { return n + 1; }
    """
    (tmp_path / "map").write_text("OLD_1 { global: play; };\nNEW_2 { global: play; } OLD_1;\n")
    file = build(tmp_path, text, "-shared", "-fPIC", "-Wl,--version-script=map", name="libv.so")
    new, old = (offset_of(file, f"play_{name}") for name in ("new", "old"))
    for strip in (False, True):
        if strip:
            subprocess.run(["strip", file], check=True)
        assert f" begin {new:#x}/" in places(driver, file, "play")
        assert f" begin {new:#x}/" in places(driver, file, "play@@NEW_2")
        assert f" begin {old:#x}/" in places(driver, file, "play@OLD_1")
        assert "no function play@NEVER" in places(driver, file, "play@NEVER")


def test_several_functions_of_a_name_are_listed(driver: Path, tmp_path: Path) -> None:
    part = "static __attribute__((noinline)) int same(int n) { return n * %d; }\n"
    part += "int %s(int n) { return same(n); }\n"
    (tmp_path / "b.c").write_text(part % (3, "other"))
    text = part % (5, "first") + "int other(int); int main(void) { return first(1) + other(2); }"
    file = build(tmp_path, text, "-O0", "b.c")
    found = places(driver, file, "same")
    assert "2 functions are named same: name the offset of one instead" in found
    offsets = re.findall(r"0x\w+", found)
    assert len(offsets) == 2
    assert places(driver, file, offsets[0]).startswith("entry ")


def test_code_with_exceptions_has_returns_only_where_it_is_asked(
    driver: Path, tmp_path: Path
) -> None:
    if shutil.which("c++") is None:
        pytest.skip("c++ is not installed")
    text = """
    #include <stdexcept>
    namespace player { __attribute__((noinline)) int decode(int n) {
        if (n > 9) throw std::runtime_error("n");
        return n; } }
    int main(int n, char **) { try { return player::decode(n); } catch (...) { return 1; } }
    """
    file = build(tmp_path, text, compiler="c++")
    mangled = "_ZN6player6decodeEi"
    assert "it has exceptions" in places(driver, file, mangled)
    assert "--hook uprobe" in places(driver, file, mangled)
    offset = offset_of(file, mangled)
    assert f" begin {offset:#x}/" in places(driver, file, mangled, forced=True)
    assert places(driver, file, mangled, "main").startswith("pair ")
    assert places(driver, file, "decode").endswith(f"with that word: {mangled}")


def test_a_rust_function_is_named_by_its_mangled_name(driver: Path, tmp_path: Path) -> None:
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not installed")
    text = "#[inline(never)] fn decode(n: usize) -> usize { std::hint::black_box(n) }\n"
    (tmp_path / "p.rs").write_text(text + 'fn main() { println!("{}", decode(3)); }')
    done = subprocess.run(
        ["rustc", "-O", "p.rs"], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"rustc does not work here: {done.stderr.strip()[-200:]}")
    listed = places(driver, tmp_path / "p", "6decode")
    mangled = re.search(r"_\w*6decode\w*", listed)
    assert mangled is not None, listed
    assert places(driver, tmp_path / "p", mangled[0], forced=True).startswith("entry ")


def test_a_path_is_looked_up_in_the_root_of_a_process(driver: Path, program: Path) -> None:
    """A container's library has an absolute link that only the container's root resolves."""
    if os.geteuid() != 0:
        pytest.skip("only root may change its root directory")
    root = program.parent / "root"
    (root / "opt").mkdir(parents=True, exist_ok=True)
    shutil.copy(program, root / "opt" / "real")
    (root / "linked").unlink(missing_ok=True)
    (root / "linked").symlink_to("/opt/real")
    wait = "import os, sys\nos.chroot(sys.argv[1])\nprint(flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", wait, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        expected = places(driver, program, "decode_frame")
        assert expected.startswith("entry ")
        assert places(driver, "/linked", "decode_frame", pid=process.pid) == expected
        assert "No such file" in places(driver, "/linked", "decode_frame")
        # A relative path stays the probe's.
        relative = places(driver, "./p", "decode_frame", pid=process.pid, cwd=program.parent)
        assert relative == expected
        assert process.stdin is not None
        process.stdin.close()


# ---------------------------------------------------------------- USDT


@needs_readelf
@pytest.mark.skipif(struct.calcsize("P") != 8, reason="notes of 64-bit programs")
def test_locations_follow_the_base_that_moved(driver: Path, program: Path, tmp_path: Path) -> None:
    """As prelink leaves it: the notes say where .stapsdt.base was before."""
    text = subprocess.run(
        ["readelf", "-W", "-S", "-l", str(program)], capture_output=True, text=True, check=True
    ).stdout
    match = re.search(r"\.stapsdt\.base +PROGBITS +(\w+)", text)
    assert match is not None
    base = int(match[1], 16)
    (offset,) = notes_of(program, "frame_begin")
    address = next(a for a in range(base) if loaded_at(text, a) == offset)
    moved = tmp_path / "moved"
    notes = usdt_note(b"p", b"same", address, base, 0) + usdt_note(
        b"p", b"moved", address + 64, base + 64, 0
    )
    (tmp_path / "notes").write_bytes(notes)
    subprocess.run(
        ["objcopy", f"--update-section=.note.stapsdt={tmp_path / 'notes'}", program, moved],
        check=True,
    )
    for name in ("same", "moved"):
        assert places(driver, moved, f"p:{name}").endswith(f"begin {offset:#x}/0x0 end")


def loaded_at(headers: str, address: int) -> int | None:
    try:
        return offset_at(headers, address)
    except AssertionError:
        return None
