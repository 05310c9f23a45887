"""The card of the simulated bench: a loop device in the reader of a mux, and the mux's tool."""

from __future__ import annotations

import fcntl
import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MIB = 1 << 20
#: <linux/loop.h>
_LOOP_CTL_ADD, _LOOP_CTL_REMOVE = 0x4C80, 0x4C81
_NUMBERS = (1 << 12, 1 << 20)

#: As pengutronix's usbsdmux is called: `usbsdmux CONTROL dut|host|off|get`. The file CONTROL.card
#: has the card's device and what is behind it, so that one tool serves all muxes of a bench.
_TOOL = """#!/bin/sh
set -e
read -r name backing <"$1.card"
echo "$2" >>"$1"
case $2 in
host) [ "$(cat /sys/block/$name/size)" -gt 0 ] || losetup "/dev/$name" "$backing" ;;
dut | off) [ "$(cat /sys/block/$name/size)" -eq 0 ] || losetup -d "/dev/$name" ;;
get) tail -n 1 "$1" ;;
esac
"""


class Card:
    """A card of so many bytes in a loop device; `backing` is what is really on it."""

    def __init__(
        self, directory: Path, size: int, device: Path, backing: Path | None = None
    ) -> None:
        self.backing = backing or directory / "card"
        with self.backing.open("wb") as file:
            file.truncate(size)
        self.device = device
        self.control = directory / "sg7"
        self.control.write_text("dut\n")
        self.control.with_name("sg7.card").write_text(f"{self.device.name} {self.backing}\n")
        self.tool = directory / "usbsdmux"
        self.tool.write_text(_TOOL)
        self.tool.chmod(0o755)

    @property
    def turns(self) -> list[str]:
        """What the mux was turned to, in order."""
        return self.control.read_text().split()

    def resource(self) -> str:
        return f"BenchMux: {{control: {self.control}, disk: {self.device}}}"

    def remove(self) -> None:
        if int((Path("/sys/block") / self.device.name / "size").read_text()):
            _losetup("-d", str(self.device))


@contextmanager
def loop_device() -> Iterator[Path]:
    """Make a loop device of our own.

    It is empty at times, and whoever asks for a free device gets the empty one of the lowest
    number: its number is high.
    """
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        number = random.randrange(*_NUMBERS)
        fcntl.ioctl(control, _LOOP_CTL_ADD, number)
        try:
            yield Path(f"/dev/loop{number}")
        finally:
            fcntl.ioctl(control, _LOOP_CTL_REMOVE, number)
    finally:
        os.close(control)


@contextmanager
def card(directory: Path, size: int, backing: Path | None = None) -> Iterator[Card]:
    """Make a card; its device is empty while the card is in the board."""
    with loop_device() as device:
        made = Card(directory, size, device, backing)
        try:
            yield made
        finally:
            made.remove()


def can_loop() -> bool:
    """Whether this machine lets us have loop devices."""
    if os.geteuid() != 0:
        return False
    return subprocess.run(["losetup", "--find"], capture_output=True, check=False).returncode == 0


def _losetup(*words: str) -> str:
    return subprocess.run(
        ["losetup", *words], check=True, capture_output=True, text=True
    ).stdout.strip()
