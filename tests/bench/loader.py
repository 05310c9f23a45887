"""The boot loader of a board of the simulated bench: U-Boot's prompt, a countdown, a "kernel".

loader.py BOOT PROBE PLACE: BOOT is mounted at /boot, and the words of the entry that is booted are
what /proc/cmdline has. PROBE is copied to PLACE, where whylate looks for it. A word `hang` hangs
the board, `refused` has its entry refused.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import termios
import tty
from pathlib import Path

BOOT = Path(sys.argv[1])
CONF = BOOT / "extlinux/extlinux.conf"
#: What the board's TFTP server has.
TFTP = BOOT.parent / "tftp"
KEY_S = 0.3


def say(text: str) -> None:
    os.write(1, text.replace("\n", "\r\n").encode())


def key(seconds: float) -> bytes:
    return os.read(0, 1) if select.select([0], [], [], seconds)[0] else b""


def entry(path: Path, label: str = "") -> tuple[str, list[str]]:
    """Return the kernel and the words of a label, by default those of the default."""
    lines = [line.strip().partition(" ") for line in path.read_text().splitlines()]
    label = label or next(value for name, _, value in lines if name == "DEFAULT")
    at = lines.index(("LABEL", " ", label))
    values = {}
    for name, _, value in lines[at + 1 :]:
        if name == "LABEL":
            break
        values[name] = value.strip()
    return values["LINUX"], values.get("APPEND", "").split()


class Prompt:
    """U-Boot's prompt: commands until one of them boots."""

    def __init__(self) -> None:
        self.loaded = ""
        self.arguments: list[str] = []

    def read(self) -> tuple[str, list[str]] | None:
        """Carry out commands; return what is to be booted, None for what the board has."""
        line = b""
        say("\n=> ")
        while True:
            typed = key(60)
            if typed == b"\x03":
                say("<INTERRUPT>\n=> ")
                line = b""
            elif typed in (b"\r", b"\n"):
                words = line.decode().split()
                line = b""
                say("\n")
                if words[:1] == ["boot"]:
                    return None
                chosen = self.carry_out(words) if words else None
                if chosen is not None:
                    return chosen
                say("=> ")
            elif typed:
                line += typed
                os.write(1, typed)

    def carry_out(self, words: list[str]) -> tuple[str, list[str]] | None:
        """Carry out a command; return what it boots, None if it boots nothing."""
        match words:
            case ["sysboot", *_]:
                path = BOOT / words[-1].removeprefix("/boot/").lstrip("/")
                if path.exists() and "refused" not in entry(path)[1]:
                    return entry(path)
                say(f"Error reading {words[-1]}\n")
            case ["setenv", "bootargs", *arguments]:
                self.arguments = arguments
            case ["tftpboot", _, name] if (TFTP / name).exists():
                self.loaded = f"../tftp/{name}"
                say(f"Loading {name}\n")
            case ["tftpboot", *_]:
                say("TFTP error: 'File not found' (1)\n")
            case ["booti", *_]:
                return self.loaded, self.arguments
            case _:
                say(f"Unknown command '{words[0]}' - try 'help'\n")
        return None


def once() -> tuple[str, list[str]] | None:
    """Return what is booted this time alone: the mark is removed before, as a boot loader does."""
    mark = BOOT / "once"
    if not mark.exists():
        return None
    conf, _, label = mark.read_text().strip().partition(" ")
    mark.unlink()
    return entry(BOOT / conf, label)


def boot(kernel: str, words: list[str]) -> None:
    if not (BOOT / kernel.lstrip("/")).exists():
        say(f"cannot load {kernel}\n")
        kernel, words = entry(CONF)
    say("Starting kernel ...\n\n[    0.000000] Linux version 0.0.0 (bench)\n")
    if "hang" in words:
        say("Kernel panic - not syncing: hang\n")
        select.select([], [], [])
    here = Path("/run/bench")
    here.mkdir(exist_ok=True)
    shutil.copy(BOOT / kernel.lstrip("/"), here / "kernel")
    (here / "cmdline").write_text(" ".join(words) + "\n")
    (here / "boot_id").write_text(os.urandom(8).hex() + "\n")
    for path, over in (
        (here / "cmdline", "/proc/cmdline"),
        (here / "boot_id", "/proc/sys/kernel/random/boot_id"),
        (BOOT, "/boot"),
    ):
        subprocess.run(["mount", "--bind", str(path), over], check=True)


def main() -> None:
    place = Path(sys.argv[3])
    place.parent.mkdir(mode=0o700, exist_ok=True)
    shutil.copy(sys.argv[2], place)
    held = termios.tcgetattr(0)
    tty.setraw(0)
    say("U-Boot 2023.01 (bench)\n\nHit any key to stop autoboot:  1 ")
    chosen = Prompt().read() if key(KEY_S) else once()
    boot(*(chosen or entry(CONF)))
    termios.tcsetattr(0, termios.TCSANOW, held)
    os.environ["PATH"] = f"{BOOT.parent}/bin:{os.environ['PATH']}"
    os.execvp(  # noqa: S606 - a test's board
        "setsid", ["setsid", "--ctty", "--wait", "/bin/sh", "-i"]
    )


main()
