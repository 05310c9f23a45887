"""A console that asks who is there: a real getty and login, and a password nobody writes down."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from console_line import BUSYBOX, Line, shell_on_a_line

from whylate.boards.console.prompt import Login
from whylate.boards.console.shell import ConsoleShell
from whylate.boards.errors import BoardError

PASSWORD = "correct-horse-7"  # noqa: S105
VARIABLE = "WHYLATE_TEST_CONSOLE"

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or BUSYBOX is None, reason="needs root and a static busybox for a chroot"
)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whylate.boards.console.prompt.NOTHING_SILENCE_S", 0.3)
    monkeypatch.setattr("whylate.boards.console.prompt.UNKNOWN_SILENCE_S", 0.4)


@contextmanager
def getty(directory: Path, password: str, *, ask_first: bool = False) -> Iterator[Line]:
    """Run what a board's init runs on its console, in a root of its own, again and again."""
    assert BUSYBOX is not None
    root = directory / "root"
    for name in ("bin", "etc", "root", "tmp", "run", "dev", "proc"):
        (root / name).mkdir(parents=True)
    (root / "bin/busybox").write_bytes(Path(BUSYBOX).resolve().read_bytes())
    (root / "bin/busybox").chmod(0o755)
    subprocess.run([BUSYBOX, "--install", "-s", str(root / "bin")], check=False)
    for applet in subprocess.run(
        [BUSYBOX, "--list"], check=True, capture_output=True, text=True
    ).stdout.split():
        link = root / "bin" / applet
        if applet != "busybox":
            link.unlink(missing_ok=True)
            link.symlink_to("busybox")
    hashed = ""
    if password:
        hashed = subprocess.run(
            [BUSYBOX, "mkpasswd", "-m", "sha512", password],
            check=True, capture_output=True, text=True,
        ).stdout.strip()  # fmt: skip
    (root / "etc/passwd").write_text(f"root:{hashed}:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    (root / "etc/issue").write_text("Test Board 1.0 \\n\n\n")
    (root / "dev/null").write_bytes(b"")
    # Said again and again, so that it is heard however late we begin to listen.
    ask = "printf '\\rPlease press Enter to activate this console. '; read -r -t 1 k"
    first = f"until {ask}; do :; done; " if ask_first else ""
    script = f"while :; do {first}setsid -c getty -L 115200 - vt100; done"
    command = ["chroot", str(root), "/bin/sh", "-c", script]
    with shell_on_a_line(command, directory / "console.log", {"PATH": "/bin:/usr/sbin"}) as line:
        yield line


def test_we_log_in_and_out_and_the_password_is_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, PASSWORD)
    with getty(tmp_path, PASSWORD) as line:
        shell = ConsoleShell(line.console.connect(), Login("root", VARIABLE))
        shell.open(30)
        assert shell.run(["pwd"]).output == b"/root\n"
        shell.close()
        log = line.console.log.read_bytes()
        assert b"Password:" in log
        assert log.rstrip().endswith(b"login:"), "we logged out"
        assert PASSWORD.encode() not in log
        with ConsoleShell(line.console.connect(), Login("root", VARIABLE)) as again:
            again.open(30)


def test_a_board_that_echoes_the_password_does_not_get_it_into_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, PASSWORD)
    with getty(tmp_path, PASSWORD) as line:

        def echo(data: bytes) -> bytes:
            typed.append(data)
            return data

        typed: list[bytes] = []
        line.channel.up = echo
        line.channel.down = lambda data: (
            data + typed.pop() if typed and PASSWORD.encode() in typed[-1] else data
        )
        shell = ConsoleShell(line.console.connect(), Login("root", VARIABLE))
        shell.open(30)
        shell.close()
        log = line.console.log.read_bytes()
    assert b"<hidden>" in log
    assert PASSWORD.encode() not in log


def test_a_wrong_password_is_refused_in_words_that_do_not_hold_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "not-it-at-all")
    with getty(tmp_path, PASSWORD) as line:
        shell = ConsoleShell(line.console.connect(), Login("root", VARIABLE))
        with pytest.raises(BoardError, match="refuses root's password") as caught:
            shell.open(30)
        assert "not-it-at-all" not in str(caught.value)
        shell.close()
        assert b"not-it-at-all" not in line.console.log.read_bytes()


def test_a_password_that_is_not_there_is_asked_for_by_its_variables_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with getty(tmp_path, PASSWORD) as line:
        shell = ConsoleShell(line.console.connect(), Login("root", VARIABLE))
        with pytest.raises(BoardError, match=f"{VARIABLE}, which should hold it, is not set"):
            shell.open(30)
        shell.close()
        shell = ConsoleShell(line.console.connect())
        with pytest.raises(BoardError, match="name that variable as password_env"):
            shell.open(30)
        shell.close()


def test_a_user_without_a_password_and_a_console_that_wants_enter_first(tmp_path: Path) -> None:
    with getty(tmp_path, "", ask_first=True) as line:
        shell = ConsoleShell(line.console.connect())
        shell.open(15, booting=True)
        assert shell.run(["id", "-u"]).output == b"0\n"
        shell.close()
