"""`whylate board watch` beside a run on a virtual board, and the board after it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from terminals import Terminal, command

from own_boards import own_boards

BOARD = "pc"
pytestmark = pytest.mark.qemu
#: What the kernel of the board prints, and what a hostile one might.
HOSTILE = b"\x1b]0;owned\x07\x1b[2J<b>bold</b>\n" + b"y" * (10 << 20) + b"\n"
_WRITES = os.O_WRONLY | os.O_RDWR


@pytest.fixture(scope="module")
def state() -> Iterator[Path]:
    with own_boards(BOARD) as directory:
        yield directory


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings")


@contextmanager
def measuring(directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run in another process, from when its recording is there."""
    words = command(
        *("measure", BOARD, "--for", "300s", "--interval", "10ms", "-o", str(directory))
    )
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            deadline = time.monotonic() + 240
            while not (directory / "journal").exists():
                assert process.poll() is None, process.stderr and process.stderr.read()
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield process
        finally:
            # In good order: what was measured is kept.
            process.send_signal(signal.SIGINT)
            process.wait(120)
            assert process.stderr is not None
            printed = process.stderr.read()
        assert process.returncode in {0, 3}, printed


def opened_for_writing(pid: int) -> list[str]:
    """Return what a process has open for writing, its terminal apart, and its sockets.

    What it has of the test itself is left out: the pipes in which pytest keeps what is printed.
    """
    ours = {str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()}
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(link.readlink())
            info = Path(f"/proc/{pid}/fdinfo/{link.name}").read_text()
        except FileNotFoundError:
            # Closed since it was listed.
            continue
        flags = int(info.split("flags:")[1].split()[0], 8)
        if target in ours:
            continue
        if "socket:" in target or (flags & _WRITES and not target.startswith("/dev/p")):
            found.append(target)
    return found


def files(directory: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(directory)): (path.lstat().st_ino, path.lstat().st_mode)
        for path in directory.rglob("*")
    }


@pytest.mark.parametrize("leave", [b"q", b"\x03"], ids=["q", "ctrl-c"])
def test_a_run_is_watched_and_leaving_changes_nothing(
    leave: bytes, state: Path, recordings: Path
) -> None:
    # It runs once more where it fails.
    first = not any(recordings.glob("watched*/journal"))
    directory = recordings / f"watched{len(list(recordings.iterdir()))}"
    with measuring(directory) as run:
        terminal = Terminal("board", "watch")
        terminal.read_until(rf"process {run.pid} of \S+, since [\d:]+: measure {BOARD} --for 300s")
        terminal.read_until(r"\d\.\d s of 300 s, [1-9]\d* activations")
        # At least so much, where the host let the board overrun.
        terminal.read_until(r"so far +(?:≥ )?[0-9.]+ .s")
        terminal.read_until("│ ")
        if not first:
            terminal.read_until(r"previous +\S+.*(?:the first|all) \d+\.\d s of ")
        assert opened_for_writing(terminal.pid) == []
        noted = files(state)
        terminal.type(leave)
        assert terminal.status() == 0
        assert terminal.text().count("Traceback") == 0
        assert files(state) == noted
        size = (directory / "journal").stat().st_size
        deadline = time.monotonic() + 60
        while (directory / "journal").stat().st_size == size:
            assert run.poll() is None
            assert time.monotonic() < deadline, "the run goes on"
            time.sleep(0.1)
    manifest = json.loads((directory / "manifest.json").read_text())
    assert manifest["state"] == "interrupted"
    assert manifest["probe"]["frames_lost"] == 0


def test_a_hostile_console_beside_a_run(state: Path, recordings: Path) -> None:
    log = state / BOARD / "console.log"
    with measuring(recordings / f"hostile{len(list(recordings.iterdir()))}") as run:
        terminal = Terminal("board", "watch", BOARD)
        terminal.read_until("│ ")
        with log.open("ab") as file:
            file.write(HOSTILE)
        terminal.read_until("before these lines were not looked at|yyyy")
        with log.open("ab") as file:
            file.write(HOSTILE[:40] + b"\nKernel panic - not syncing: \x1b]0;owned\x07 <b>\n")
        terminal.read_until(re.escape("crash       panic: Kernel panic - not syncing: "))
        terminal.read_until(re.escape(r"\x1b]0;owned\x07"))
        assert b"\x1b]0;" not in terminal.printed
        assert b"\x07" not in terminal.printed
        terminal.type(b"q")
        assert terminal.status() == 0
        assert run.poll() is None


def test_without_a_terminal_what_is_seen_is_printed_once(state: Path) -> None:
    done = subprocess.run(
        command("board", "watch", BOARD), capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith(f"{BOARD}  off\n")
    assert "nobody" in done.stdout
    done = subprocess.run(
        command("board", "watch", "--json"), capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout) == {"boards": [], "left_out": 0}
    del state


def test_an_unknown_board_is_refused() -> None:
    done = subprocess.run(
        command("board", "watch", "board9"), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 3
    assert "board 'board9'" in done.stderr
    assert "Traceback" not in done.stderr
