"""A pytest plugin: processes that outlive the tests which started them fail the run.

Such a process would hold the machine, and the output of whoever runs the tests, for as long as it
lives. All that tests start has a variable of this run in its environment, unless a test leaves it
out.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from processes import lives
from starts import end_server

_VARIABLE = "WHYLATE_SUITE"
#: Processes that end with the workers have this long for it.
GRACE_S = 10.0
_LOOK_S = 0.05
#: Characters of a command that are shown.
_SHOWN = 200


def processes_with(variable: str, value: str) -> dict[int, str]:
    """Return the command of each other process that was started with a variable of that value."""
    word = f"{variable}={value}".encode()
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        # It may end meanwhile, or belong to somebody else.
        with suppress(OSError):
            if word not in (directory / "environ").read_bytes().split(b"\0"):
                continue
            command = (directory / "cmdline").read_bytes().replace(b"\0", b" ")
            pid = int(directory.name)
            if pid != os.getpid() and lives(pid):
                found[pid] = command.decode(errors="replace").strip()[:_SHOWN]
    return found


class LeftBehind:
    """Looks for processes once the workers have ended, and ends what it finds."""

    def __init__(self) -> None:
        self._value = f"{os.getpid()}.{time.monotonic_ns()}"
        os.environ[_VARIABLE] = self._value
        self._left: dict[int, str] = {}

    @pytest.hookimpl(trylast=True)  # After pytest-xdist has ended its workers.
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        end_server()
        deadline = time.monotonic() + GRACE_S
        while (left := processes_with(_VARIABLE, self._value)) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        self._left = left
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if left and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._left:
            terminalreporter.section("processes that tests left behind, killed now")
            for pid, command in self._left.items():
                terminalreporter.write_line(f"{pid}: {command}")
