"""Programs that a test builds, and the places that the probe finds in them."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from c_programs import ROOT, compile_c

SOURCES = [f"section/{name}.c" for name in ("elf", "functions", "symbols", "usdt", "user")]
SOURCES += ["bpf/kprobe.c", "failure.c", "small_file.c"]
PROGRAM = """
#include "whylate_section.h"
volatile int sink;
__attribute__((noinline)) int decode_frame(int n) { sink = n; return n; }
__attribute__((noinline)) int decode_header(int n) { sink = n + 1; return decode_frame(n) + 1; }
static inline int inlined(int n) { return n + sink; }
int main(int argc, char **argv) {
    (void)argv;
    WHYLATE_SECTION_BEGIN(frame);
    int n = decode_frame(argc) + decode_header(argc) + inlined(argc);
    if (n == 7) { WHYLATE_SECTION_END(frame); return 1; }
    WHYLATE_SECTION_END(frame);
    return 0;
}
"""


def build_driver(folder: Path) -> Path:
    """Compile the driver with sanitizers."""
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    return compile_c("cc", "user_code", SOURCES, folder, sanitizers)


def build(folder: Path, text: str, *flags: str, compiler: str = "cc", name: str = "p") -> Path:
    """Compile a program against the header of marks."""
    suffix = ".cc" if "+" in compiler else ".c"
    (folder / f"{name}{suffix}").write_text(text)
    built = folder / name
    include = f"-I{ROOT / 'include'}"
    subprocess.run(
        [compiler, "-O1", "-Wall", "-Wextra", "-Werror", include, *flags, f"{name}{suffix}",
         "-o", str(built)],
        cwd=folder, check=True,
    )  # fmt: skip
    return built


def places(
    driver: Path | Sequence[str | Path], file: str | Path, begin: str, end: str = "", *,
    pid: int = 0, forced: bool = False, cwd: Path | None = None,
) -> str:  # fmt: skip
    command = [driver] if isinstance(driver, Path) else list(driver)
    done = subprocess.run(
        [*command, str(file), begin, end, str(pid), str(int(forced))],
        capture_output=True, text=True, check=False, cwd=cwd,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def usdt_note(provider: bytes, name: bytes, location: int, base: int, semaphore: int) -> bytes:
    value = struct.pack("=QQQ", location, base, semaphore) + provider + b"\0" + name + b"\0\0"
    padded = value + b"\0" * (-len(value) % 4)
    return struct.pack("=III", 8, len(value), 3) + b"stapsdt\0" + padded
