"""A user with a key, for the tests that reach a board over SSH."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ssh_servers import BUSYBOX, DROPBEAR, SSHD, Server, User, openssh


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    """Return a user whose key the servers know; `ssh` reads the user's configuration."""
    if os.geteuid() != 0:
        pytest.skip("servers in namespaces of their own need root")
    for program in (SSHD, DROPBEAR, BUSYBOX, "unshare", "ssh"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    made = User(tmp_path / "user")
    monkeypatch.setenv("PATH", f"{made.directory}/bin:{os.environ['PATH']}")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return made


@pytest.fixture
def server(tmp_path: Path, user: User) -> Iterator[Server]:
    """Run OpenSSH's server, whose key the user knows."""
    with openssh(tmp_path / "server", user) as server:
        user.know(server)
        yield server
