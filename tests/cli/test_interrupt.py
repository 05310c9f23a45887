"""A signal that ends whylate leaves everything as after Ctrl-C does."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import came_true

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def begin(note: Path, *before: str) -> subprocess.Popen[bytes]:
    """Start a verb that runs a command here; the command's number is in the note then."""
    script = f"echo $$ >{note}.new; mv {note}.new {note}; exec sleep 1000"
    verb = [sys.executable, "-m", "whylate", "board", "run", "local", "--", "sh", "-c", script]
    host = subprocess.Popen([*before, *verb])
    assert came_true(note.exists, 60)
    return host


def gone(note: Path) -> bool:
    """Whether the command has ended; who inherits it may be slow to ask for its status."""
    try:
        status = Path(f"/proc/{note.read_text().strip()}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] in "ZX"


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_what_runs_and_has_its_own_status(
    tmp_path: Path, number: signal.Signals
) -> None:
    host = begin(tmp_path / "pid")
    host.send_signal(number)
    assert host.wait(30) == 128 + number
    assert came_true(lambda: gone(tmp_path / "pid"), 30)


def test_a_hang_up_that_the_parent_ignores_stays_ignored(tmp_path: Path) -> None:
    host = begin(tmp_path / "pid", "sh", "-c", "trap '' HUP; exec \"$@\"", "sh")
    host.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        host.wait(1.0)
    host.send_signal(signal.SIGTERM)
    assert host.wait(30) == 128 + signal.SIGTERM
    assert came_true(lambda: gone(tmp_path / "pid"), 30)


LEAVING = """
import os, signal, time
from whylate.cli.interrupt import unwind_when_ended
unwind_when_ended()
try:
    print("began", flush=True)
    time.sleep(60)
finally:
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGHUP):
        os.kill(os.getpid(), number)
        time.sleep(0.05)
    print("left", flush=True)
"""


def test_a_second_signal_does_not_interrupt_the_cleanup() -> None:
    with subprocess.Popen([sys.executable, "-c", LEAVING], stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"began\n"
        host.send_signal(signal.SIGHUP)
        assert host.stdout.read() == b"left\n"
        assert host.wait(30) == 128 + signal.SIGHUP
