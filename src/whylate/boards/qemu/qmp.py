"""QEMU's monitor: commands and their answers, over a socket (QEMU: docs/interop/qmp-spec.rst)."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

#: A longer answer is none of the commands that are used here.
_LONGEST = 1 << 20
_LOOK_S = 0.005


class QmpError(Exception):
    """QEMU refused a command, or is gone: one line."""


class Qmp:
    """A connection to the monitor of a QEMU that was just started."""

    def __init__(self, path: Path, timeout_s: float, runs: Callable[[], bool]) -> None:
        """Connect as soon as QEMU listens; raises QmpError. runs: whether QEMU still runs."""
        self._deadline = time.monotonic() + timeout_s
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            while not self._connects(path):
                if not runs():
                    raise QmpError("QEMU ended")
                self._pause()
            self._lines = self._socket.makefile("rb")
            self._receive()
            self.run("qmp_capabilities")
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        """Return the connection."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self._lines.close()
        self._socket.close()

    def run(self, command: str, **arguments: object) -> Any:
        """Return the answer to a command; raises QmpError."""
        request = {"execute": command, "arguments": arguments}
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise QmpError(f"QEMU's monitor: {error.strerror or error}") from None
        while True:
            answer = self._receive()
            if "error" in answer:
                raise QmpError(f"{command}: {answer['error'].get('desc')}")
            if "return" in answer:
                return answer["return"]

    def wait_for(self, event: str) -> None:
        """Wait for an event that no command has skipped; raises QmpError."""
        while self._receive().get("event") != event:
            pass

    def migrate(self, command: str, state: Path) -> None:
        """Write or read the state of devices, all but the memory in files; raises QmpError.

        command: "migrate" or "migrate-incoming".
        """
        shared = {"capability": "x-ignore-shared", "state": True}
        self.run("migrate-set-capabilities", capabilities=[shared])
        # Otherwise QEMU's main thread would wake up for a second, to announce network cards, and
        # two CPUs then take other turns.
        self.run("migrate-set-parameters", **{"announce-rounds": 1})
        self.run(command, uri=f"file:{state}")
        while (status := self.run("query-migrate").get("status")) != "completed":
            if status in {"failed", "cancelled"}:
                raise QmpError(f"{command} {status}")
            self._pause()

    def _connects(self, path: Path) -> bool:
        try:
            self._socket.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError as error:
            raise QmpError(f"{path}: {error.strerror or error}") from None
        return True

    def _pause(self) -> None:
        if time.monotonic() > self._deadline:
            raise QmpError("QEMU's monitor does not answer")
        time.sleep(_LOOK_S)

    def _receive(self) -> dict[str, Any]:
        try:
            self._socket.settimeout(max(_LOOK_S, self._deadline - time.monotonic()))
            message = json.loads(self._lines.readline(_LONGEST))
        except (OSError, ValueError):
            raise QmpError("QEMU's monitor does not answer, or QEMU ended") from None
        return message if isinstance(message, dict) else {}
