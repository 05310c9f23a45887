"""Starts of whylate by a server that has it imported: a third of the CPU time of a start.

`run()` is subprocess.run() for `[sys.executable, "-m", "whylate", ...]`. Tests of signals,
terminals, the time of a start and the environment of Python start whylate itself.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

from start_client import request

COMMANDS = ([sys.executable, "-m", "whylate"], [str(Path(sys.executable).parent / "whylate")])
#: Options of subprocess.run() that a start by the server has.
_KNOWN = {"capture_output", "check", "cwd", "env", "input", "stderr", "stdin", "stdout", "text",
          "timeout"}  # fmt: skip
#: Variables that Python reads as it starts begin like these.
_OF_PYTHON = ("PYTHON", "LC_", "LANG", "LD_", "OPENBLAS", "OMP_", "TZ")


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a command, which the server starts where it is whylate's; as subprocess.run()."""
    argv = [os.fspath(word) for word in command]
    environment = dict(os.environ if options.get("env") is None else options["env"])
    words = _words(argv)
    if words is None or _of_python(environment) != _SERVER_HAS or not options.keys() <= _KNOWN:
        return subprocess.run(command, **options)  # noqa: PLW1510 (it is among the options)
    directory = Path(options.get("cwd") or ".").resolve()
    with _Streams(options) as streams:
        status = _start(words, directory, environment, streams.numbers, options.get("timeout"))
        done = subprocess.CompletedProcess(argv, status, streams.read(1), streams.read(2))
    if options.get("check"):
        done.check_returncode()
    return done


def _words(command: list[str]) -> list[str] | None:
    """Return what a command says to whylate; None where it is another program's."""
    for first in COMMANDS:
        if command[: len(first)] == first:
            return command[len(first) :]
    return None


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what Python reads of an environment as it starts."""
    return {name: value for name, value in environment.items() if name.startswith(_OF_PYTHON)}


#: The server's own environment is that of these tests before any changed it.
_SERVER_HAS = _of_python(os.environ)


class _Streams:
    """Standard input, output and error of a start: files, or what subprocess.run() was given."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._text = bool(options.get("text"))
        self._files: dict[int, IO[bytes]] = {}
        self._null = Path(os.devnull).open("r+b", buffering=0)  # noqa: SIM115
        given = options.get("input")
        captured = subprocess.PIPE if options.get("capture_output") else None
        #: The descriptors of the three.
        self.numbers: list[int] = []
        self._add(options.get("stdin") if given is None else subprocess.PIPE)
        self._add(options.get("stdout", captured))
        self._add(options.get("stderr", captured))
        if given is not None:
            self._files[0].write(given.encode() if isinstance(given, str) else given)
            self._files[0].seek(0)

    def __enter__(self) -> _Streams:
        return self

    def __exit__(self, *error: object) -> None:
        for file in (self._null, *self._files.values()):
            file.close()

    def read(self, number: int) -> Any:
        """Return what a stream has; None where it is not captured."""
        if number not in self._files:
            return None
        self._files[number].seek(0)
        data = self._files[number].read()
        # As subprocess: universal newlines.
        return data.decode().replace("\r\n", "\n").replace("\r", "\n") if self._text else data

    def _add(self, what: Any) -> None:
        number = len(self.numbers)
        if what is None:
            self.numbers.append(number)
        elif what == subprocess.PIPE:
            self._files[number] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
            self.numbers.append(self._files[number].fileno())
        elif what == subprocess.STDOUT:
            self.numbers.append(self.numbers[1])
        elif what == subprocess.DEVNULL:
            self.numbers.append(self._null.fileno())
        else:
            self.numbers.append(what if isinstance(what, int) else what.fileno())


def _start(
    words: list[str],
    directory: Path,
    environment: dict[str, str],
    standard: list[int],
    timeout_s: float | None,
) -> int:
    """Return the exit status of a start; raises TimeoutExpired when it has been killed."""
    with request(server(), words, str(directory), environment, standard) as client:
        client.settimeout(timeout_s)
        try:
            return int(client.recv(16))
        except TimeoutError:
            raise subprocess.TimeoutExpired(["whylate", *words], timeout_s or 0) from None


@cache
def server() -> str:
    """Return the socket of a server of this process, which ends with it."""
    directory = tempfile.mkdtemp(prefix="wls")
    path = f"{directory}/starts"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen()
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("start_server.py")),
             str(listener.fileno())],
            pass_fds=[listener.fileno()], stdin=subprocess.PIPE, cwd="/",
            env={**{n: v for n, v in os.environ.items() if n not in _of_python(os.environ)},
                 **_SERVER_HAS},
        )  # fmt: skip

    def end() -> None:
        process.communicate()
        shutil.rmtree(directory, ignore_errors=True)

    _ends.append(end)
    return path


#: Ends the server, where there is one.
_ends: list[Callable[[], None]] = []


@atexit.register
def end_server() -> None:
    """End the server of this process; the next start has a new one."""
    server.cache_clear()
    while _ends:
        _ends.pop()()
