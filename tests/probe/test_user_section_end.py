"""What a section of user code leaves behind where its probe is killed: nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from processes import probes_below
from user_sections import COUNTING, NEEDS, code_of, command, compiled, time_section
from whylate.probe.errors import ProbeError

pytestmark = [pytest.mark.machine, *NEEDS]


def test_nothing_is_left_of_a_probe_that_is_killed(tmp_path: Path) -> None:
    """No event in tracefs, and no breakpoint in a program that goes on."""
    file = compiled(tmp_path, COUNTING.replace("return 0;", "fflush(stdout); getchar(); return 0;"))
    before = uprobe_events()
    with subprocess.Popen([file, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        clean = code_of(process.pid, file)
        timed: list[bytes] = []

        def kill() -> None:
            timed.append(code_of(process.pid, file))
            assert uprobe_events() == before
            for pid in probes_below():
                os.kill(pid, signal.SIGKILL)

        with pytest.raises(ProbeError):
            time_section(command(f"{file}:decode_frame"), kill)
        # A breakpoint was there.
        assert timed[0] != clean
        until = time.monotonic() + 20
        while code_of(process.pid, file) != clean and time.monotonic() < until:
            time.sleep(0.05)
        assert code_of(process.pid, file) == clean
        assert uprobe_events() == before
        process.communicate(b"\n")
    assert process.returncode == 0


def uprobe_events() -> str | None:
    file = Path("/sys/kernel/tracing/uprobe_events")
    return file.read_text() if file.exists() else None
