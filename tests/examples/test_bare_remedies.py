"""The examples of remedies without an operating system run on an emulated Arm board."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.qemu

EXAMPLES = Path(__file__).parents[2] / "examples/rtos"
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-system-aarch64"
#: As the page says: no C library, and nothing of the compiler's that needs one.
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib", "-static")
BOARD = ("-mgeneral-regs-only", "-mno-outline-atomics", "-mstrict-align", "-Wl,-Ttext=0x40080000")


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("shared_timer", ["shared", "in order"]),
        ("bulk_clean", ["costs found", "chunked", "holds"]),
        ("address_spaces", ["begun", "its tables", "generations", "a flush in each"]),
    ],
)
def test_an_example_does_on_a_board_what_it_says(
    name: str, lines: list[str], tmp_path: Path
) -> None:
    for tool in (COMPILER, EMULATOR):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    program = tmp_path / name
    source = str(EXAMPLES / f"{name}.c")
    subprocess.run(
        [COMPILER, *FLAGS, *BOARD, "-Wl,-e,_start", source, "-o", str(program)], check=True
    )
    board = ["-M", "virt", "-cpu", "cortex-a57", "-nographic", "-kernel", str(program)]
    # An instruction takes 1 ns by its clock, whatever else this machine does.
    board += ["-icount", "shift=0,sleep=off"]
    done = subprocess.run(
        [EMULATOR, *board], check=True, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines() == [f"{line}: 1" for line in lines]
