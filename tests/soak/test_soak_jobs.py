"""Soaks of commands on a real virtual board: programs that crash, jobs that fail, a killed host."""

from __future__ import annotations

import base64
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import starts
from own_boards import own_boards
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.lab.description import virtual_board
from whylate.recording.reader import open_recording
from whylate.soak.journal import cycle_directory, read_soak
from whylate.soak.model import Cycle

BOARD = "virt-arm64"

pytestmark = pytest.mark.qemu


@pytest.fixture(autouse=True)
def state() -> Iterator[Path]:
    with own_boards(BOARD) as directory:
        yield directory


def faulting_program() -> bytes:
    """Return a program for arm64 that reads address 0: an ELF header, one segment, two words."""
    code = struct.pack("<2I", 0xD2800000, 0xF9400000)  # mov x0, #0; ldr x0, [x0]
    base, headers = 0x400000, 64 + 56
    size = headers + len(code)
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    header = ident + struct.pack(
        "<2HI3QI6H", 2, 183, 1, base + headers, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    segment = struct.pack("<2I6Q", 1, 5, 0, base, base, size, size, 0x1000)
    return header + segment + code


def soak(directory: Path, *words: str) -> list[str]:
    return [
        *(sys.executable, "-m", "whylate", "board", "soak", BOARD, "--smp", "1"),
        *("--cycles", "2", "-o", str(directory), *words),
    ]


def soaked(directory: Path, *words: str) -> tuple[int, str, list[Cycle]]:
    command = soak(directory, *words)
    done = starts.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, read_soak(directory)[1]


def test_programs_that_crash_beside_a_job_are_counted_and_so_is_its_status(tmp_path: Path) -> None:
    program = base64.b64encode(faulting_program()).decode()
    script = (
        f"echo {program} | base64 -d >/root/faulty; chmod +x /root/faulty; dmesg -n 1; "
        # The console shows nothing from here on: the kernel's log does.
        "/root/faulty; tail /dev/zero; exit 3"
    )
    status, printed, cycles = soaked(tmp_path / "s", "cmd", "--", "sh", "-c", script)
    assert status == 1
    for cycle in cycles:
        assert cycle.outcome == "program-crashed", cycle
        kinds = {(cause.kind, cause.what) for cause in cycle.causes}
        assert kinds == {
            ("program-crashed", "unhandled signal"),
            ("program-crashed", "OOM kill"),
            ("job-failed", "status 3"),
        }
        place = cycle_directory(tmp_path / "s", cycle.cycle)
        assert b"faulty[" not in (place / "console.log").read_bytes()
        assert b"faulty[" in (place / "kernel.log").read_bytes()
        # The run is kept, with its time.
        assert open_recording(place / "recording").repetitions.column("status").tolist() == [3]
        assert cycle.run_s is not None
    assert printed.count("2 of 2: rate 15 % to 100 % (95 %)") == 3, "all, programs, and jobs"
    assert "OOM kill" in printed


def test_each_pass_of_a_job_is_a_row_with_its_time_and_a_killed_host_resumes(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "s"
    words = ("cmd", "--value", "took ([0-9.]+)", "--unit", "ms", "--",
             "sh", "-c", "sleep 2; echo took 7.5")  # fmt: skip
    host = subprocess.Popen(
        soak(directory, *words), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        journal = cycle_directory(directory, 2) / "recording" / "journal"
        deadline = time.monotonic() + 200
        while not journal.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        host.kill()
        host.wait()
    status, printed, cycles = soaked(directory, *words)
    assert status == 0, printed
    assert [cycle.outcome for cycle in cycles] == ["ok", "interrupted", "ok"]
    for cycle in (cycles[0], cycles[2]):
        (figure,) = cycle.figures
        assert (figure.name, figure.unit) == ("value", "ms")
        assert figure.value == pytest.approx(7.5)
        assert cycle.run_s is not None
        assert cycle.run_s > 2
        assert not cycle.causes
    assert "median 7.5 ms" in printed
    # Another job is another soak.
    other = starts.run(
        soak(directory, "cmd", "--", "true"),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert other.returncode == 2
    assert "is a soak with points" in other.stderr


def test_a_board_whose_kernel_panicked_stays_as_it_is_for_the_engineer(tmp_path: Path) -> None:
    began = time.monotonic()
    status, printed, cycles = soaked(
        tmp_path / "s", "--until-crash", "cmd", "--", "sh", "-c", "echo c >/proc/sysrq-trigger"
    )
    # It is noticed on the console: the probe's silence alone takes ten minutes.
    assert time.monotonic() - began < 240
    assert status == 1
    (cycle,) = cycles
    assert (cycle.outcome, cycle.left_on) == ("crashed", True)
    assert [(cause.kind, cause.what) for cause in cycle.causes] == [("crashed", "panic")]
    assert f"its console: whylate board console {BOARD}" in printed
    board = QemuBoard(virtual_board(BOARD), VirtualOptions())
    assert board.power.is_on()
    assert b"end Kernel panic" in board.machine.console_log.read_bytes()
