"""The board `local`: this machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from whylate.boards.board import Finished, Notify, StartedProbe
from whylate.boards.errors import BoardError
from whylate.boards.streams.process import (
    MAX_OUTPUT,
    ProcessStream,
    StoppedError,
    run_to_end,
)
from whylate.probe.binaries import NoProbeError, ProbeBinary, probe_binary
from whylate.text import clean


class LocalBoard:
    """This machine as a board: always on, without a console."""

    name = "local"
    power = None
    console = None

    def hold(self, notify: Notify) -> None:
        """Do nothing: this machine is not locked."""

    def boot(self, notify: Notify) -> None:
        """Do nothing: it is on."""

    def stay_on(self) -> None:
        """Do nothing: it has no supply that can be switched."""

    def close(self) -> None:
        """Do nothing: nothing was switched."""

    @cached_property
    def binary(self) -> ProbeBinary:
        """The probe for this machine; raises BoardError."""
        try:
            return probe_binary(platform.machine())
        except NoProbeError as error:
            raise BoardError(str(error)) from None

    def start_probe(self, notify: Notify) -> StartedProbe:
        """Start the probe as a child process; raises BoardError."""
        del notify
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
        """Run a command; raises BoardError, also where it prints more than MAX_OUTPUT."""
        what = clean(argv[0], 80)
        try:
            done = run_to_end(argv, data, timeout_s, MAX_OUTPUT)
        except StoppedError as error:
            raise BoardError(f"{what} {error}") from None
        except OSError as error:
            raise BoardError(f"{what} cannot be run: {error.strerror}") from None
        status = done.status if done.status >= 0 else 128 - done.status
        return Finished(status, done.output, done.error)

    def stream(self, argv: Sequence[str]) -> ProcessStream:
        """Start a command as a child process; raises BoardError."""
        try:
            return ProcessStream(argv)
        except OSError as error:
            raise BoardError(f"{argv[0]} cannot be started: {error.strerror}") from None
