"""The board `local`: this machine."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from whylate.boards.board import BoardError, Finished, StartedProbe, Tell
from whylate.boards.process import ProcessStream
from whylate.probe.binaries import NoProbeError, ProbeBinary, probe_binary


class LocalBoard:
    """This machine as a board: always on, its console not ours."""

    name = "local"
    power = None
    console = None

    def hold(self, tell: Tell) -> None:
        """Nobody else is kept from the machine we run on."""

    def boot(self, tell: Tell) -> None:
        """Do nothing: we run on it."""

    def stay_on(self) -> None:
        """Do nothing: its supply is not ours."""

    def close(self) -> None:
        """Nothing was switched."""

    @cached_property
    def binary(self) -> ProbeBinary:
        """The probe for this machine; raises BoardError."""
        try:
            return probe_binary(platform.machine())
        except NoProbeError as error:
            raise BoardError(str(error)) from None

    def start_probe(self, tell: Tell) -> StartedProbe:
        """Start the probe as a child process; raises BoardError."""
        del tell
        return StartedProbe(self.stream([str(self.binary.path)]), self.binary)

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None:
        """Write a file; raises BoardError."""
        fresh = Path(f"{path}.{os.getpid()}.part")
        try:
            fresh.write_bytes(data)
            fresh.chmod(mode)
            fresh.replace(path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise BoardError(f"{path} cannot be written: {error.strerror}") from None

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        """Run a command; raises BoardError."""
        try:
            done = subprocess.run(
                argv, input=data, capture_output=True, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise BoardError(f"{argv[0]} took longer than {timeout_s:g} s") from None
        except OSError as error:
            raise BoardError(f"{argv[0]} cannot be run: {error.strerror}") from None
        status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return Finished(status, done.stdout, done.stderr)

    def stream(self, argv: Sequence[str]) -> ProcessStream:
        """Start a command as a child process; raises BoardError."""
        try:
            return ProcessStream(argv)
        except OSError as error:
            raise BoardError(f"{argv[0]} cannot be started: {error.strerror}") from None
