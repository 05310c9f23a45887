"""Build ids in ELF notes: of this kernel, of programs of the cross compilers, and in garbage."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c_programs import TARGETS, absent, compile_c

KERNEL_NOTES = Path("/sys/kernel/notes")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    folder = tmp_path_factory.mktemp("build_id")
    return compile_c("cc", "build_id", ["recorder/build_id.c"], folder, sanitizers)


def build_id(program: Path, notes: bytes) -> str:
    return subprocess.run([program], input=notes, capture_output=True, check=True).stdout.decode()


def note(kind: int, name: bytes, value: bytes, padding: bool = True) -> bytes:
    def padded(data: bytes) -> bytes:
        return data + b"\0" * (-len(data) % 4)

    header = struct.pack("=III", len(name), len(value), kind)
    return header + padded(name) + (padded(value) if padding else value)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")
@pytest.mark.parametrize("name", list(TARGETS))
def test_the_build_id_equals_that_of_readelf(name: str, program: Path, tmp_path: Path) -> None:
    target = TARGETS[name]
    if (tool := absent(target)) is not None:
        pytest.skip(f"{tool} is not installed")
    (tmp_path / "p.c").write_text("int main(void) { return 0; }\n")
    built, notes = tmp_path / "p", tmp_path / "notes"
    command = [target.compiler, "-static", "-Wl,--build-id=sha1", "p.c", "-o", "p"]
    subprocess.run(command, cwd=tmp_path, check=True)
    objcopy = target.compiler.replace("gcc", "objcopy") if "-" in target.compiler else "objcopy"
    section = "--only-section=.note.gnu.build-id"
    subprocess.run([objcopy, "-O", "binary", section, built, notes], check=True)
    done = subprocess.run(["readelf", "-n", built], capture_output=True, text=True, check=True)
    match = re.search(r"Build ID: ([0-9a-f]+)", done.stdout)
    assert match is not None
    assert build_id(program, notes.read_bytes()).strip() == match[1]


@pytest.mark.skipif(not KERNEL_NOTES.exists(), reason="this kernel shows no notes")
def test_this_kernel_has_a_build_id() -> None:
    assert b"GNU\0" in KERNEL_NOTES.read_bytes()


def test_a_build_id_after_other_notes_and_without_padding_is_read(program: Path) -> None:
    other = note(1, b"Linux\0", b"abcde") + note(3, b"Xen\0", b"x" * 20)
    assert build_id(program, other + note(3, b"GNU\0", bytes(range(20)))).strip() == (
        bytes(range(20)).hex()
    )
    assert build_id(program, note(3, b"GNU\0", b"abc", padding=False)).strip() == b"abc".hex()
    assert build_id(program, other).strip() == ""


def test_a_build_id_that_is_too_long_is_ignored(program: Path) -> None:
    assert build_id(program, note(3, b"GNU\0", b"x" * 64)).strip() == "78" * 64
    assert build_id(program, note(3, b"GNU\0", b"x" * 65)).strip() == ""


@settings(max_examples=60)
@given(st.binary(max_size=60), st.integers(0, 80))
def test_garbage_is_read_within_its_bounds(program: Path, data: bytes, keep: int) -> None:
    build_id(program, data)
    build_id(program, (note(1, b"A\0", data) + note(3, b"GNU\0", data[:20]))[:keep])
    # Lengths that overflow when they are padded.
    build_id(program, struct.pack("=III", 0xFFFFFFFE, 4, 3) + data)
    build_id(program, struct.pack("=III", 4, 0xFFFFFFFE, 3) + b"GNU\0" + data)
