"""What hangs on the simulated bench: boards of several kinds, each with a power plug."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from bench_line import SerialLine

from plain_shells import PLAIN_SHELLS
from whylate.boards.board import ImageFile, notify_nobody
from whylate.boards.deploy import PLACES
from whylate.boards.errors import BoardError
from whylate.boards.qemu.arguments import Start, arguments
from whylate.lab.description import VirtualBoard
from whylate.lab.image import PROBE, build
from whylate.lab.initramfs import packed
from whylate.lab.qemu import find_qemu
from whylate.lab.ssh import ssh_files
from whylate.probe.binaries import probe_binary


class ProcessBoard:
    """A board that is a process, in a PID namespace of its own: without power all of it dies."""

    def __init__(self, command: Sequence[str], line: SerialLine | None = None) -> None:
        self._command = command
        self._line = line
        self._process: subprocess.Popen[bytes] | None = None

    #: Printed on the line when it is switched on.
    banner = b"[    0.000000] Linux version 0.0.0 (bench)\r\n"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def files(self, pattern: str) -> list[str]:
        """The names of files on the board, which must be on."""
        assert self._process is not None
        pid = self._process.pid
        child = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
        root = Path(f"/proc/{child}/root")
        return [str(path.relative_to(root)) for path in root.glob(pattern)]

    def power_on(self) -> None:
        if self.running:
            return
        command = [
            *("unshare", "--pid", "--mount", "--fork", "--kill-child=KILL", "--mount-proc"),
            # A place of its own for what is put on it.
            *("sh", "-c", _PLACE, "board"),
            *self._command,
        ]
        if self._line is None:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            return
        master, slave = pty.openpty()
        self._process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=_ENVIRONMENT
        )
        os.close(slave)
        self._line.say(self.banner)
        self._line.attach(master)

    def power_off(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
        if self._line is not None:
            self._line.detach()


_PLACE = f'mount -t tmpfs bench /run && mkdir /run/sshd && {PLAIN_SHELLS} && exec "$@"'
_ENVIRONMENT = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "PS1": "# ",
    "TERM": "dumb",
    "HOME": "/root",
}


def shell_board(line: SerialLine) -> ProcessBoard:
    """A board that comes up with a root shell on its serial line."""
    return ProcessBoard(["setsid", "--ctty", "--wait", "/bin/sh", "-i"], line)


def hung_board(line: SerialLine) -> ProcessBoard:
    """A board that stops in the middle of its boot."""
    script = "printf 'Loading Linux\\r\\nVFS: Unable to mount root fs\\r\\n'; exec sleep 1000"
    return ProcessBoard(["sh", "-c", script], line)


#: What a card must begin with for a CardBoard to boot; the version follows.
BOOTS = b"whylate bench image "


def card_image(path: Path, version: str | None, size: int) -> Path:
    """Write an image of random bytes for a CardBoard; without a version it does not boot."""
    first = BOOTS + version.encode() + b"\n" if version is not None else b"none\n"
    path.write_bytes(first + random.Random(path.name).randbytes(size - len(first)))
    return path


class CardBoard(ProcessBoard):
    """A board that boots what its card has: it prints the image's first line, or hangs."""

    def __init__(self, card: Path, line: SerialLine) -> None:
        super().__init__([], line)
        self._card = card

    def power_on(self) -> None:
        if self.running:
            return
        with self._card.open("rb") as file:
            first = file.readline(200).rstrip()
        if first.startswith(BOOTS):
            version = first.removeprefix(BOOTS)
            self.banner = b"[    0.000000] Linux version " + version + b" (bench)\r\n"
            self._command = ["setsid", "--ctty", "--wait", "/bin/sh", "-i"]
        else:
            self.banner = b"SPL: no image on the card\r\n"
            self._command = ["sleep", "1000"]
        super().power_on()


def ssh_server_board(directory: Path, port: int) -> ProcessBoard:
    """A board with nothing but an SSH server, which lets the key in `directory`/id in."""
    key, host = directory / "id", directory / "host"
    for path in (key, host):
        if not path.exists():
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True
            )
    authorized = directory / "authorized"
    authorized.write_text(key.with_suffix(".pub").read_text())
    config = directory / "sshd_config"
    config.write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {host}\nAuthorizedKeysFile {authorized}\n"
        "StrictModes no\nPidFile none\nUsePAM no\nPasswordAuthentication no\n"
    )
    return ProcessBoard(["/usr/sbin/sshd", "-D", "-f", str(config)])


class BabblingBoard:
    """A board whose console babbles: escape codes, zeros, half of UTF-8, all of it at random."""

    def __init__(self, line: SerialLine, seed: int) -> None:
        self._line = line
        self._random = random.Random(seed)
        self._thread: threading.Thread | None = None
        self._off = threading.Event()

    def power_on(self) -> None:
        if self._thread is None:
            self._off.clear()
            self._thread = threading.Thread(target=self._babble)
            self._thread.start()

    def power_off(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._off.set()
            thread.join()

    def _babble(self) -> None:
        spice = [
            b"\x1b[2J",
            b"\x1b]0;owned\x07",
            b"\r\n",
            b"# ",
            b"login: ",
            b"\xc3",
            b"\0\0",
            b"\x9b",
        ]
        while not self._off.wait(0.01):
            self._line.say(self._random.randbytes(200) + self._random.choice(spice))


def put_probe(board: VirtualBoard) -> str:
    """Return a script that puts the image's probe where whylate looks for it on a board.

    A copy over an emulated console takes a minute and a half.
    """
    place = f"{PLACES[0]}/whylate-probe-0"
    sha256 = probe_binary(board.description.arch).sha256
    return f"mkdir -m 700 {place}\ncp {PROBE} {place}/whylate-probe.{sha256}\n"


def qemu_command(
    board: VirtualBoard,
    directory: Path,
    ssh: tuple[int, str] | None = None,
    files: Sequence[ImageFile] = (),
) -> list[str]:
    """QEMU as whylate itself starts it: one CPU, its console on a socket in `directory`.

    ssh: the port of this machine that leads to its SSH server, and the public key of its root.
    files: more files of its image.
    """
    qemu = find_qemu(board)
    if qemu is None:
        raise BoardError(f"{board.name} needs {board.description.qemu}: `make lab` fetches it")
    image = build(board, notify_nobody)
    initrd, port = image.initrd, None
    if ssh is not None:
        port, key = ssh
        files = [*files, *ssh_files(board, key, notify_nobody)]
    if files:
        initrd = directory / "initrd"
        initrd.write_bytes(image.initrd.read_bytes() + packed(files))
    start = Start(cpus=1, directory=directory, ssh_port=port)
    return arguments(board, qemu, image, initrd, start)


class QemuOnTheBench:
    """A QEMU machine whose console socket is wired to a serial line."""

    def __init__(self, command: Sequence[str], console: Path, line: SerialLine) -> None:
        self._command = command
        self._console = console
        self._line = line
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def power_on(self) -> None:
        if self.running:
            return
        self._console.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as console:
                console.connect(str(self._console))
                self._line.attach(os.dup(console.fileno()))
                return
            if not self.running or time.monotonic() > deadline:
                raise RuntimeError("QEMU did not start")
            time.sleep(0.05)

    def power_off(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait()
        self._line.detach()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
