"""The way to a board's SSH server: whether it answers, and over which jump host."""

from __future__ import annotations

import socket
import time

import pytest

from ssh_servers import Server, User, free_port
from whylate.boards import ssh as ssh_module
from whylate.boards.errors import BoardError
from whylate.boards.ssh import SshBoard

pytest_plugins = ["ssh_fixtures"]


def test_a_server_answers_whether_it_would_let_us_in_or_not(server: Server) -> None:
    assert SshBoard(server.url()).why_silent() is None
    assert SshBoard(server.url("nobody")).why_silent() is None
    assert "Accepted" not in server.log.read_text()


def test_a_port_where_nobody_listens_is_silent(user: User) -> None:
    del user
    why = SshBoard(f"ssh://root@127.0.0.1:{free_port()}").why_silent()
    assert why is not None
    assert why.endswith("Connection refused")


def test_a_port_that_accepts_without_a_banner_is_silent(user: User) -> None:
    del user
    with socket.create_server(("127.0.0.1", 0)) as listener:
        began = time.monotonic()
        why = SshBoard(f"ssh://root@127.0.0.1:{listener.getsockname()[1]}").why_silent()
        assert why is not None
        # On a busy machine ssh is ended before it says that.
        assert "timed out" in why or why == "ssh printed nothing"
        assert time.monotonic() - began < ssh_module.GREETING_S + ssh_module.PARTING_S


def test_the_server_is_asked_and_not_a_shared_connection(server: Server, user: User) -> None:
    shared = user.directory / "shared"
    user.configure("Host *", "ControlMaster auto", f"ControlPath {shared}", "ControlPersist 60")
    board = SshBoard(server.url())
    board.run(["true"])
    assert shared.exists()
    assert board.why_silent() is None
    server.stop()
    assert board.why_silent() is not None


def behind(server: Server, *lines: str) -> tuple[str, ...]:
    """Return a configuration in which the server is both the board and the bench before it."""
    key = f"HostKeyAlias [127.0.0.1]:{server.port}"
    at = (f"Port {server.port}", key)
    # ssh refuses a host that is its own jump host, by its name.
    return ("Host board", "HostName 127.0.0.1", "User root", *lines, *at,
            "Host bench", "HostName localhost", *at)  # fmt: skip


def test_a_jump_host_that_does_not_let_us_in_is_said_in_its_own_words(
    server: Server, user: User
) -> None:
    user.configure(*behind(server, "ProxyJump nobody@bench"))
    board = SshBoard("ssh://board")
    with pytest.raises(BoardError) as caught:
        board.run(["true"])
    assert "nobody@localhost: Permission denied (publickey): whylate asks" in str(caught.value)
    assert board.why_silent() == "nobody@localhost: Permission denied (publickey)"


def test_a_jump_host_that_forbids_the_way_on_is_said_so(server: Server, user: User) -> None:
    key = user.directory.parent / "server" / "authorized_keys"
    key.write_text(f"no-port-forwarding {key.read_text()}")
    user.configure(*behind(server, "ProxyJump root@bench"))
    with pytest.raises(BoardError, match=r"administratively prohibited.*see AllowTcpForwarding"):
        SshBoard("ssh://board").run(["true"])


def test_a_jump_host_of_the_benchs_is_used_where_the_user_has_none(
    server: Server, user: User
) -> None:
    user.configure(*behind(server))
    board = SshBoard("ssh://board", jump="root@bench")
    assert board.run(["true"]).status == 0
    assert server.log.read_text().count("Accepted publickey") == 2


def test_the_users_jump_host_precedes_that_of_the_bench(server: Server, user: User) -> None:
    user.configure(*behind(server, "ProxyJump root@bench"))
    assert SshBoard("ssh://board", jump="nobody-knows.invalid").run(["true"]).status == 0
