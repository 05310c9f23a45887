"""Commands, files and errors over a real OpenSSH server."""

from __future__ import annotations

import hashlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from processes import children_of
from ssh_servers import Server, User, free_port, make_key, openssh
from waiting import came_true
from whylate.boards import ssh as ssh_module
from whylate.boards.board import notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.ssh import SshBoard
from whylate.boards.streams.process import Ended, run_to_end

pytest_plugins = ["ssh_fixtures"]

AWKWARD = ["", " ", "a b", "'", '"', "\\", "$HOME", "`id`", "$(id)", "a\nb", "*", "~", "!x", "-n",
           "--", ";", "&", "|", ">x", "#", "é\u202e", "\t", "'\"'"]  # fmt: skip


def test_words_arrive_as_they_were_given(server: Server) -> None:
    done = SshBoard(server.url()).run(["printf", "%s\\0", *AWKWARD])
    assert done.output.decode().split("\0")[:-1] == AWKWARD


@pytest.mark.parametrize("status", [0, 1, 127, 254, 255])
def test_a_status_is_the_commands_and_never_sshs(server: Server, status: int) -> None:
    done = SshBoard(server.url()).run(["sh", "-c", f"echo out; echo err >&2; exit {status}"])
    assert (done.status, done.output, done.error) == (status, b"out\n", b"err\n")


def test_a_command_that_a_signal_ended_says_so(server: Server) -> None:
    assert SshBoard(server.url()).run(["sh", "-c", "kill -9 $$"]).status == 137


def test_a_program_that_is_not_there_is_no_broken_board(server: Server) -> None:
    done = SshBoard(server.url()).run(["/no/such/program"])
    assert done.status == 127
    assert b"/no/such/program" in done.error


def test_input_and_output_are_bytes(server: Server) -> None:
    data = bytes(range(256)) * 32768
    assert SshBoard(server.url()).run(["cat"], data=data).output == data


def test_a_command_that_reads_no_input_is_no_error(server: Server) -> None:
    assert SshBoard(server.url()).run(["true"], data=bytes(8 << 20)).status == 0


@pytest.mark.parametrize("target", ["1", "2"])
def test_output_without_end_is_ended(
    server: Server, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_module, "MAX_OUTPUT", 1 << 20)
    with pytest.raises(BoardError, match="printed more than 1 MiB"):
        SshBoard(server.url()).run(["sh", "-c", f"yes >&{target}"])
    wait_for_nobody(server)


@pytest.mark.parametrize("command", ["sleep 1000", "trap '' TERM; sleep 1000 & wait; sleep 1000"])
def test_what_takes_too_long_is_ended_on_the_board(server: Server, command: str) -> None:
    began = time.monotonic()
    with pytest.raises(BoardError, match=r"sh took longer than 1 s"):
        SshBoard(server.url()).run(["sh", "-c", command], timeout_s=1.0)
    assert time.monotonic() - began < 20
    wait_for_nobody(server)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_a_signal_interrupts_here_is_ended_on_the_board(
    server: Server, number: signal.Signals
) -> None:
    command = [sys.executable, "-m", "whylate", "board", "run", server.url(), "--", "sleep", "1000"]
    host = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        assert came_true(lambda: "sleep" in server.running().values())
        host.send_signal(number)
        assert host.wait(30) == 128 + number
    finally:
        host.kill()
        host.wait()
    wait_for_nobody(server)


def test_what_is_interrupted_before_its_ids_have_arrived_is_ended_on_the_board(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(command: list[str], *rest: Any) -> Ended:
        if "sleep 1000" not in command[-1]:
            return run_to_end(command, *rest)
        monkeypatch.setattr(ssh_module, "run_to_end", run_to_end)
        ssh = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert came_true(lambda: "sleep" in server.running().values())
        ssh.kill()
        ssh.communicate()
        raise KeyboardInterrupt

    monkeypatch.setattr(ssh_module, "run_to_end", interrupt)
    with pytest.raises(KeyboardInterrupt):
        SshBoard(server.url()).run(["sh", "-c", "sleep 1000 & sleep 1000"])
    wait_for_nobody(server)


@pytest.mark.parametrize("shell", [["dash"], ["bash"], ["busybox", "sh"]], ids=" ".join)
def test_each_shell_finds_a_command_and_its_shell_by_the_word_alone(shell: list[str]) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")

    def find(word: bytes) -> bytes:
        # It finds no other programs: all is the shell's own.
        return subprocess.run(
            [shutil.which(shell[0]) or "", *shell[1:], "-c", ssh_module._FIND],
            input=word, capture_output=True, timeout=30, check=False, env={"PATH": "/nowhere"},
        ).stdout  # fmt: skip

    word = f"whylate-{os.urandom(8).hex()}"
    command = ["sh", "-c", ssh_module._RUN, word, "sleep", "1000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as outer:
        try:
            assert outer.stderr is not None
            parent, child = outer.stderr.readline().split()[1:]
            assert int(parent) == outer.pid
            assert came_true(lambda: Path(f"/proc/{child}/comm").read_text() == "sleep\n")
            assert find(word.encode()) == f"{parent} {child}\n".encode()
            # Without a word it would find all.
            assert find(b"") == find(b"\n") == b""
        finally:
            for pid in children_of(outer.pid):
                os.kill(pid, signal.SIGKILL)
            outer.kill()
    assert find(word.encode()) == b""


def test_an_interrupt_before_there_is_a_connection_asks_no_board_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def interrupt(command: list[str], *rest: Any) -> Ended:
        if "-G" in command:  # its configuration
            return run_to_end(command, *rest)
        asked.append(command)
        if len(asked) == 1:
            raise KeyboardInterrupt
        return Ended(255, b"", b"ssh: No route to host")

    monkeypatch.setattr(ssh_module, "run_to_end", interrupt)
    with pytest.raises(KeyboardInterrupt):
        SshBoard("ssh://board7").run(["true"])
    assert len(asked) == 2


@pytest.mark.parametrize("status", [b"9" * 5000, b"1000", b"-1", b"", b"7 7"])
def test_a_status_that_no_shell_has_is_none(status: bytes) -> None:
    error = b"token 1 2\nwhat it said\ntoken " + status + b"\n"
    with pytest.raises(BoardError, match="did not end"):
        SshBoard("ssh://board7")._finished("board7: true", "token", Ended(0, b"", error))


def wait_for_nobody(server: Server) -> None:
    assert came_true(lambda: not server.running()), server.running()


def test_a_stream_carries_both_ways_and_ends_the_command(server: Server) -> None:
    stream = SshBoard(server.url()).stream(["cat"])
    with closing(stream):
        stream.write(b"\x00\xff there")
        got = b""
        while len(got) < 8:
            assert select.select([stream.fileno()], [], [], 10)[0]
            got += stream.read(4096)
        assert got == b"\x00\xff there"
    wait_for_nobody(server)


def test_closing_a_stream_that_talks_on_does_not_wait_for_ever(server: Server) -> None:
    stream = SshBoard(server.url()).stream(["sh", "-c", "yes & cat; kill $!"])
    assert select.select([stream.fileno()], [], [], 10)[0]
    began = time.monotonic()
    stream.close()
    stream.close()
    assert time.monotonic() - began < 10
    wait_for_nobody(server)


def test_a_flooded_error_stream_stops_nothing_and_is_bounded(server: Server) -> None:
    script = "yes noise | head -c 3000000 >&2; echo last words >&2; echo done; cat"
    with closing(SshBoard(server.url()).stream(["sh", "-c", script])) as stream:
        deadline = time.monotonic() + 20
        while not select.select([stream.fileno()], [], [], 0.1)[0]:
            stream.write(b"x")
            assert time.monotonic() < deadline
        assert stream.read(4096).startswith(b"done")
    assert stream.last_words().endswith(b"last words\n")
    assert len(stream.last_words()) <= 4096


def test_a_file_is_put_whole_with_its_mode(server: Server, tmp_path: Path) -> None:
    path, data = tmp_path / "a b'c", os.urandom(300_000)
    SshBoard(server.url()).put(b"old", str(path))
    SshBoard(server.url()).put(data, str(path), 0o750)
    assert path.read_bytes() == data
    assert path.stat().st_mode & 0o7777 == 0o750
    assert not list(tmp_path.glob("*.part"))


def test_a_file_that_cannot_be_written_leaves_what_was_there(
    server: Server, tmp_path: Path
) -> None:
    board = SshBoard(server.url())
    with pytest.raises(BoardError, match=r"cannot be written.*Directory nonexistent"):
        board.put(b"x", str(tmp_path / "no" / "such"))
    (tmp_path / "here").mkdir()
    with pytest.raises(BoardError, match="is a directory"):
        board.put(b"x", str(tmp_path / "here"))
    assert not list((tmp_path / "here").iterdir())


def test_a_transfer_that_is_cut_off_changes_nothing(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    script = ssh_module._PUT
    # The size that was announced never comes: the line ended before.
    words = ["sh", "-c", script, "whylate", str(path), "10", "0" * 64, "644", "abc"]
    assert SshBoard(server.url()).run(words, data=b"short").status == 1
    assert SshBoard(server.url()).run(words, data=b"0123456789").status == 1, "another hash"
    assert path.read_bytes() == b"old"
    assert not list(tmp_path.glob("*.part"))


def test_a_link_that_somebody_left_is_not_written_through(server: Server, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"old")
    (tmp_path / "file.abc.part").symlink_to(victim)
    sha256 = hashlib.sha256(b"new").hexdigest()
    words = ["sh", "-c", ssh_module._PUT, "whylate", str(tmp_path / "file"), "3", sha256, "644"]
    assert SshBoard(server.url()).run([*words, "abc"], data=b"new").status == 1
    assert victim.read_bytes() == b"old"


def failing(url: str) -> str:
    """Return the one line that holding a board fails with."""
    with pytest.raises(BoardError) as failed:
        SshBoard(url).hold(notify_nobody)
    text = str(failed.value)
    assert text.isprintable()
    return text


@pytest.mark.usefixtures("user")
def test_a_port_where_nobody_listens() -> None:
    port = free_port()
    text = failing(f"ssh://root@127.0.0.1:{port}")
    assert re.search(f"port {port}: Connection refused: does an SSH server run there", text), text


@pytest.mark.usefixtures("user")
def test_a_name_that_nobody_has() -> None:
    assert "Could not resolve hostname nowhere.invalid" in failing("ssh://nowhere.invalid")


def test_a_server_that_does_not_let_us_in(tmp_path: Path, user: User) -> None:
    with openssh(tmp_path / "server", User(tmp_path / "another")) as server:
        user.know(server)
        text = failing(server.url())
    assert "Permission denied (publickey): whylate asks for no password" in text


def test_a_host_key_that_nobody_knows_is_not_accepted(tmp_path: Path, user: User) -> None:
    with openssh(tmp_path / "server", user) as server:
        text = failing(server.url())
        assert f"run once `ssh -l root -p {server.port} 127.0.0.1`" in text
    assert not user.known_hosts.read_text()


def test_a_host_key_that_has_changed_is_told_from_an_unknown_one(
    server: Server, tmp_path: Path, user: User
) -> None:
    make_key(tmp_path / "other")
    key = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    user.known_hosts.write_text(f"[127.0.0.1]:{server.port} {key}\n")
    assert "Host key verification failed: its host key is not the one" in failing(server.url())


def test_a_banner_cannot_write_on_the_terminal(tmp_path: Path, user: User) -> None:
    banner = tmp_path / "banner"
    banner.write_text("\x1b]0;owned\x07\x1b[2J\nPermission \x1b[31mdenied\n")
    other = User(tmp_path / "another")
    with openssh(tmp_path / "server", other, f"Banner {banner}") as server:
        user.know(server)
        assert "Permission denied (publickey)" in failing(server.url())


def test_a_server_that_runs_something_else_is_shown_harmless(tmp_path: Path, user: User) -> None:
    evil = tmp_path / "evil"
    last = b"\x1b]0;owned\x07\x1b[2Jno \xe2\x80\xaelogin here\r\n"
    evil.write_bytes(b"A" * 100_000 + b"\n" + last)
    with openssh(tmp_path / "server", user, f"ForceCommand cat {evil} >&2; exit 1") as server:
        user.know(server)
        assert failing(server.url()).endswith("no login here")


def test_a_shell_that_prints_before_it_obeys(tmp_path: Path, user: User) -> None:
    noise = tmp_path / "noise"
    noise.write_text("echo welcome; echo to board7 >&2\n")
    with openssh(tmp_path / "server", user, f"SetEnv BASH_ENV={noise}") as server:
        user.know(server)
        board = SshBoard(server.url())
        done = board.run(["sh", "-c", "echo err >&2; exit 7"])
        assert (done.status, done.error) == (7, b"err\n")
        with closing(board.start_probe(notify_nobody).stream):
            pass
        board.close()
        assert not server.path(f"/run/whylate-probe-{os.geteuid()}").exists()


def test_a_stream_keeps_why_it_could_not_begin(tmp_path: Path, user: User) -> None:
    with openssh(tmp_path / "server", User(tmp_path / "another")) as server:
        user.know(server)
        with closing(SshBoard(server.url()).stream(["cat"])) as stream:
            assert select.select([stream.fileno()], [], [], 10)[0]
            assert stream.read(10) == b""
            stream.close()
            assert b"Permission denied (publickey)" in stream.last_words()


def test_a_connection_that_breaks_is_not_a_status(server: Server) -> None:
    with pytest.raises(BoardError, match="the connection broke"):
        SshBoard(server.url()).run(["sh", "-c", "sleep 1; kill -9 -1"])


def test_without_ssh_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "install the OpenSSH client" in failing("ssh://board7")


def effective(server: Server) -> dict[str, str]:
    """Return the options with which ssh is called, as ssh itself understands them."""
    command = SshBoard(server.url())._ssh
    asked = subprocess.run(
        ["ssh", "-G", *command[1:]], capture_output=True, text=True, check=True
    ).stdout
    return dict(line.split(" ", 1) for line in asked.splitlines() if " " in line)


def test_every_wait_is_bounded_where_the_user_said_nothing(server: Server) -> None:
    options = effective(server)
    assert options["connecttimeout"] == "10"
    assert (options["serveraliveinterval"], options["serveralivecountmax"]) == ("10", "3")
    assert options["batchmode"] == "yes"


def test_what_the_user_set_more_strictly_holds(server: Server, user: User) -> None:
    user.configure("Host *", "ConnectTimeout 3", "ServerAliveInterval 2", "ServerAliveCountMax 4")
    options = effective(server)
    assert options["connecttimeout"] == "3"
    assert (options["serveraliveinterval"], options["serveralivecountmax"]) == ("2", "4")


def test_the_users_configuration_names_the_board(server: Server, user: User) -> None:
    user.configure("Host bench-7", "HostName 127.0.0.1", f"Port {server.port}", "User root",
                   "RemoteCommand false", "LocalForward 1 127.0.0.1:1")  # fmt: skip
    assert SshBoard("ssh://bench-7").run(["id", "-u"]).output == b"0\n"


def test_a_jump_host_leads_to_the_board(server: Server, tmp_path: Path, user: User) -> None:
    with openssh(tmp_path / "behind", user) as behind:
        user.know(behind)
        user.configure(f"Match host 127.0.0.1 exec \"test %p = {behind.port}\"",
                       f"ProxyJump root@127.0.0.1:{server.port}")  # fmt: skip
        board = SshBoard(behind.url())
        assert board.run(["true"]).status == 0
        assert "127.0.0.1" in (server.log.read_text())
        with closing(board.stream(["cat"])) as stream:
            stream.write(b"x")
            assert select.select([stream.fileno()], [], [], 10)[0]
            assert any(name == "sshd" for name in server.processes().values())


def test_a_shared_connection_is_used_and_waited_for_by_nobody(server: Server, user: User) -> None:
    socket = user.directory / "shared"
    user.configure("Host *", "ControlMaster auto", f"ControlPath {socket}", "ControlPersist 60")
    board = SshBoard(server.url())
    try:
        began = time.monotonic()
        for _ in range(3):
            assert board.run(["true"]).status == 0
        assert time.monotonic() - began < 10, "the master that stays holds nobody up"
        assert socket.exists()
        assert server.log.read_text().count("Accepted publickey") == 1
    finally:
        subprocess.run(["ssh", "-S", str(socket), "-O", "exit", "x"],
                       check=False, capture_output=True)  # fmt: skip
