"""What may stand behind ssh://, and that nothing of it can reach ssh as an option."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whylate.boards.errors import BoardError
from whylate.boards.ssh import SshAddress, parse_url


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("ssh://board7", SshAddress("board7")),
        ("ssh://root@board7", SshAddress("board7", "root")),
        ("ssh://root@board7/", SshAddress("board7", "root")),
        ("ssh://dev-1@board-7.lab.example:2222", SshAddress("board-7.lab.example", "dev-1", 2222)),
        ("ssh://10.0.0.7:22", SshAddress("10.0.0.7", None, 22)),
        ("ssh://root@[fe80::1%eth0]:2222", SshAddress("fe80::1%eth0", "root", 2222)),
    ],
)
def test_an_address_is_what_ssh_would_take(url: str, address: SshAddress) -> None:
    assert parse_url(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "", "board7", "ssh://", "ssh://@board7", "ssh://-oProxyCommand=x", "ssh://a@-b",
        "ssh://-l@b", "ssh://b:0", "ssh://b:65536", "ssh://b:", "ssh://b/tmp", "ssh://b c",
        "ssh://b\n", "ssh://[::g]", "ssh://[1.2.3.4]", "ssh://a@b@c", "ssh://b;true", "ssh://$b",
        "SSH://b", "ssh://b?x", "ssh://[::1", "ssh://\u0661",
    ],
)  # fmt: skip
def test_anything_else_is_refused_in_one_line(url: str) -> None:
    with pytest.raises(BoardError) as refused:
        parse_url(url)
    assert "\n" not in str(refused.value)
    assert "ssh://[user@]host[:port]" in str(refused.value)


def test_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(BoardError, match="no password") as refused:
        parse_url("ssh://root:hunter2@board7")
    assert "hunter2" not in str(refused.value)


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=6))
def test_what_is_accepted_is_never_an_option(user: str, host: str, port: str) -> None:
    for url in (f"ssh://{user}@{host}:{port}", f"ssh://{user}@{host}", f"ssh://{host}"):
        try:
            words = parse_url(url).words()
        except BoardError:
            continue
        assert words[-2] == "--"
        assert not words[-1].startswith("-")
        assert all(not word.startswith("-") for word in words[1:-2:2])
