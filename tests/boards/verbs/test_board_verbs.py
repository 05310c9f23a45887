"""`whylate board`: a virtual board is switched, listed, used and tried, each by a command."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import starts
from own_boards import NEVER_UP, own_boards
from whylate.boards.board import notify_nobody
from whylate.boards.qemu import board as qemu_board
from whylate.boards.qemu.board import QemuBoard
from whylate.cli.board import command as board_group
from whylate.lab.description import virtual_board

BOARD = "virt-arm64"
pytestmark = pytest.mark.qemu


@pytest.fixture(scope="module", autouse=True)
def state() -> Iterator[Path]:
    with own_boards(BOARD) as directory:
        yield directory


def whylate(*arguments: str, data: str = "") -> subprocess.CompletedProcess[str]:
    return starts.run(
        [sys.executable, "-m", "whylate", "board", *arguments],
        capture_output=True,
        text=True,
        input=data,
        timeout=120,
        check=False,
    )


def listed() -> dict[str, str | None]:
    done = whylate("list", "--json")
    assert done.returncode == 0, done.stderr
    [row] = [row for row in json.loads(done.stdout)["boards"] if row["name"] == BOARD]
    assert isinstance(row, dict)
    return row


@pytest.fixture(scope="module")
def running(state: Path) -> Iterator[Path]:
    """Switch the board on with one command; it is there for the commands after it."""
    assert listed()["state"] == "off"
    done = whylate("on", BOARD)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"{BOARD}: on \(\d+\.\d s\)\n", done.stdout)
    yield state
    whylate("off", BOARD)


@pytest.mark.usefixtures("running")
def test_a_board_that_was_switched_on_stays_on() -> None:
    row = listed()
    assert (row["kind"], row["state"], row["owner"]) == ("virtual", "on", None)
    assert re.match(r"\d+\.\d+\.\d+-", str(row["kernel"]))
    again = whylate("on", BOARD)
    assert again.stdout.startswith(f"{BOARD}: was on (")


@pytest.mark.usefixtures("running")
def test_a_commands_output_and_status_are_passed_on() -> None:
    done = whylate("run", BOARD, "--", "sh", "-c", 'cat; echo "$1" >&2; exit 7', "sh", "a  'b")
    assert (done.returncode, done.stdout) == (7, "")
    assert done.stderr.splitlines()[-1] == "a  'b"
    with_input = whylate("run", "--stdin", BOARD, "--", "wc", "-c", data="12345")
    assert (with_input.returncode, with_input.stdout.strip()) == (0, "5")
    # The board was on and is on.
    assert listed()["state"] == "on"


@pytest.mark.usefixtures("running")
def test_a_board_that_somebody_has_is_refused_with_their_name() -> None:
    board = QemuBoard(virtual_board(BOARD))
    board.hold(notify_nobody)
    try:
        assert f"process {os.getpid()} " in str(listed()["owner"])
        for verb in (["off", BOARD], ["run", BOARD, "--", "true"], ["selftest", BOARD]):
            done = whylate(*verb)
            assert done.returncode == 3
            assert f"is taken: process {os.getpid()} of user" in done.stderr
            assert done.stdout == ""
    finally:
        board.close()
    assert listed()["state"] == "on"


def test_a_script_speaks_over_the_console(running: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    typed = "echo hel''lo from-$(uname -m)\n"
    done = whylate("console", BOARD, "--until", "hello from-aarch64", "--log", str(log), data=typed)
    assert done.returncode == 0, done.stderr
    assert "hello from-aarch64" in done.stdout
    assert log.read_text() == done.stdout
    assert "hello from-aarch64" in (running / BOARD / "console.log").read_text()


@pytest.mark.usefixtures("running")
def test_a_text_that_does_not_come_is_a_failed_check() -> None:
    done = whylate("console", BOARD, "--until", "no such text", "--for", "500ms")
    assert done.returncode == 1
    assert "the text was not printed in time" in done.stderr


@pytest.mark.usefixtures("running")
def test_keys_go_to_the_console_until_one_leaves() -> None:
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    command = [sys.executable, "-m", "whylate", "board", "console", BOARD]
    host = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    try:
        assert b"Ctrl-] leaves" in read_until(ours, b"Ctrl-] leaves")
        # Ctrl-C is for the board: it ends the sleep there, not the console here.
        os.write(ours, b"sleep 1000\r")
        read_until(ours, b"1000")
        time.sleep(0.5)
        os.write(ours, b"\x03")
        os.write(ours, b"echo still-$((40 + 2))\r")
        read_until(ours, b"still-42")
        # What would reach beyond the screen is shown and not done.
        os.write(ours, b"printf '\\033]0;title\\007'\r")
        assert b"\x1b]" not in read_until(ours, b"\\x1b]0;title\x07")
        os.write(ours, b"\x1d")
        read_until(ours, b"left the console")
        assert host.wait(10) == 0
        assert termios.tcgetattr(theirs) == before
    finally:
        host.kill()
        host.wait()
        os.close(ours)
        os.close(theirs)


def read_until(fd: int, text: bytes, within_s: float = 30.0) -> bytes:
    got = b""
    deadline = time.monotonic() + within_s
    while text not in got:
        assert select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0], got
        got += os.read(fd, 4096)
    return got


def tried(output: str) -> dict[str, str]:
    return {step["name"]: step["state"] for step in json.loads(output)["tried"]}


@pytest.mark.usefixtures("running")
def test_a_board_that_is_on_is_tried_and_left_on() -> None:
    done = whylate("selftest", BOARD, "--json")
    assert done.returncode == 0, done.stderr
    assert tried(done.stdout) == {
        "power": "ok", "boot": "ok", "console": "ok", "network": "not there", "probe": "ok",
    }  # fmt: skip
    assert listed()["state"] == "on"


@pytest.mark.usefixtures("running")
def test_a_cycle_is_a_new_boot() -> None:
    done = whylate("cycle", BOARD, "--off-for", "100ms")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{BOARD}: on (")
    up = whylate("run", BOARD, "--", "cut", "-d.", "-f1", "/proc/uptime")
    assert int(up.stdout) < 60
    off = whylate("off", BOARD)
    assert off.stdout.startswith(f"{BOARD}: off (")
    assert listed()["state"] == "off"
    assert whylate("off", BOARD).stdout.startswith(f"{BOARD}: was off (")
    console = whylate("console", BOARD, "--for", "1s")
    assert console.returncode == 3
    assert "the board is off" in console.stderr


def test_a_board_that_is_off_is_tried_and_off_again() -> None:
    whylate("off", BOARD)
    done = whylate("selftest", BOARD, "--json")
    assert done.returncode == 0, done.stderr
    assert tried(done.stdout) == {
        "power": "ok", "boot": "ok", "console": "ok", "network": "not there", "probe": "ok",
        "power off": "ok",
    }  # fmt: skip
    console = next(step for step in json.loads(done.stdout)["tried"] if step["name"] == "console")
    assert re.match(r"\d{4,} bytes were printed while it booted; it answers", console["why"])
    assert listed()["state"] == "off"


def test_a_board_that_does_not_come_up_fails_its_test_and_is_off_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(qemu_board, "BOOT_S", 3.0)
    never_up = [word for argument in NEVER_UP for word in ("--kernel-arg", argument)]
    done = CliRunner().invoke(board_group, ["selftest", BOARD, "--json", *never_up])
    assert done.exit_code == 1, done.output
    assert tried(done.stdout) == {
        "power": "ok", "boot": "failed", "console": "not tried", "network": "not tried",
        "probe": "not tried", "power off": "ok",
    }  # fmt: skip
    assert listed()["state"] == "off"


def test_what_fails_on_one_board_does_not_keep_the_others() -> None:
    done = whylate("off", "local", "no-such-board", BOARD)
    assert done.returncode == 3
    assert "local: local has no supply that can be switched" in done.stderr
    assert "no-such-board: unknown board" in done.stderr
    assert done.stdout.startswith(f"{BOARD}: was off (")
