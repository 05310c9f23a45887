"""The `bootcmd` that u-boot-env writes, carried out by U-Boot itself."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from bench_u_boot import STANDARD, disk_of, qemu_command, why_no_u_boot

from whylate.boards.boot.u_boot_env import ONCE, once
from whylate.lab.qemu import find_qemu


def why_no_flash() -> str:
    """Return why U-Boot could not write its environment here, or ""."""
    qemu = find_qemu(STANDARD)
    if qemu is not None and not qemu.fair:
        return "U-Boot cannot write the flash of QEMU 7.2: whylate lab build fetches a newer one"
    return ""


WHY_NOT = why_no_u_boot() or why_no_flash()
pytestmark = [pytest.mark.qemu, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]
MIB = 1 << 20
#: QEMU's flash, in which U-Boot keeps its environment.
FLASH = 64 * MIB


class Console:
    """U-Boot's console."""

    def __init__(self, path: Path) -> None:
        self._read = b""
        self._socket = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + 20
        while True:
            try:
                self._socket.connect(str(path))
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        self._socket.settimeout(120)

    def until(self, text: bytes) -> bytes:
        """Return what is printed, up to the end of this text."""
        while text not in self._read:
            piece = self._socket.recv(4096)
            assert piece, self._read
            self._read += piece
        end = self._read.index(text) + len(text)
        printed, self._read = self._read[:end], self._read[end:]
        return printed

    def type(self, text: str) -> None:
        self._socket.sendall(text.encode())

    def close(self) -> None:
        self._socket.close()


@contextmanager
def powered(directory: Path, command: Sequence[str]) -> Iterator[Console]:
    """Switch the board on, and cut its power at the end."""
    (directory / "console").unlink(missing_ok=True)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        with closing(Console(directory / "console")) as console:
            yield console
    finally:
        process.kill()
        process.wait()


def test_the_mark_boots_the_entry_once_and_a_power_cut_ends_in_the_boards_own(
    tmp_path: Path,
) -> None:
    tree, flash = tmp_path / "tree", tmp_path / "flash"
    tree.mkdir()
    flash.touch()
    os.truncate(flash, FLASH)
    made = disk_of(tmp_path / "disk.img", tree, 8 * MIB)
    more = ["-drive", f"if=pflash,index=1,format=raw,file={flash}"]
    command = qemu_command(tmp_path, made, more)
    with powered(tmp_path, command) as console:
        console.until(b"Hit any key")
        console.type(" ")
        console.until(b"=> ")
        for line in (
            f"setenv bootcmd '{once('echo THE-ENTRY', 'echo OWN-COMMAND')}'",
            f"setenv {ONCE} 1",
            "saveenv",
        ):
            console.type(f"{line}\r")
            printed = console.until(b"\n=> ")
        assert b"OK" in printed
    with powered(tmp_path, command) as console:
        printed = console.until(b"THE-ENTRY\r\n")
        assert printed.index(b"Saving Environment") < printed.index(b"THE-ENTRY")
        assert b"OWN-COMMAND" not in printed
    with powered(tmp_path, command) as console:
        assert b"THE-ENTRY" not in console.until(b"OWN-COMMAND\r\n")
