"""A host that has the probe run commands and put files on the board."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import xxhash
from agent import PIECE, put_file, run_command

from whylate.boards.board import notify_nobody
from whylate.boards.local import LocalBoard
from whylate.probe.client import Client
from whylate.probe.errors import ProbeRefusedError
from whylate.wire.messages import Put, Run


@pytest.fixture
def client() -> Iterator[Client]:
    with closing(LocalBoard().start_probe(notify_nobody).stream) as stream:
        client = Client(stream)
        client.hello()
        yield client


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()


def test_a_command_returns_its_status_and_both_of_its_outputs(client: Client) -> None:
    result = run_command(client, ["sh", "-c", "echo out; echo err >&2; exit 7"])
    assert (result.stdout, result.stderr) == (b"out\n", b"err\n")
    assert (result.status, result.signal, result.timed_out) == (7, 0, False)
    assert not result.succeeded
    assert run_command(client, ["true"]).succeeded


def test_no_shell_reads_the_arguments(client: Client) -> None:
    result = run_command(client, ["printf", "%s|", "$HOME", "a b", "*", "µ"])
    assert result.stdout.decode() == "$HOME|a b|*|µ|"


def test_a_signal_that_ends_a_command_is_reported(client: Client) -> None:
    result = run_command(client, ["sh", "-c", "kill -TERM $$"])
    assert (result.status, result.signal) == (0, 15)


def test_output_arrives_while_the_command_runs(client: Client) -> None:
    arrived: list[tuple[bytes, float]] = []
    run_command(
        client,
        ["sh", "-c", "echo first; sleep 1; echo second"],
        on_output=lambda data, _: arrived.append((data, time.monotonic())),
    )
    assert [data for data, _ in arrived] == [b"first\n", b"second\n"]
    assert arrived[1][1] - arrived[0][1] > 0.5


def test_output_beyond_the_limit_is_counted_and_not_sent(client: Client) -> None:
    result = run_command(client, ["head", "-c", "100000", "/dev/zero"], output_limit=5000)
    assert len(result.stdout) == 5000
    assert result.omitted == 95000


def test_a_megabyte_of_output_arrives_as_it_was_written(client: Client) -> None:
    result = run_command(client, ["seq", "150000"])
    assert result.stdout == b"".join(b"%d\n" % i for i in range(1, 150001))
    assert result.omitted == 0


def test_a_command_is_killed_after_its_timeout(client: Client) -> None:
    before = time.monotonic()
    result = run_command(client, ["sh", "-c", "echo began; exec sleep 60"], timeout_s=0.5)
    assert time.monotonic() - before < 10
    assert (result.timed_out, result.signal, result.stdout) == (True, 9, b"began\n")


def test_processes_that_a_command_leaves_are_killed(client: Client) -> None:
    result = run_command(client, ["sh", "-c", "setsid sleep 60 & echo $!"])
    assert result.status == 0
    assert not is_alive(int(result.stdout))


def test_a_missing_command_is_refused_with_the_errno_of_the_board(client: Client) -> None:
    with pytest.raises(ProbeRefusedError, match="cannot run no-such-command") as refused:
        run_command(client, ["no-such-command"])
    assert refused.value.error == errno.ENOENT
    with pytest.raises(ProbeRefusedError, match="1 to 64 words"):
        run_command(client, ["x"] * 65)
    with pytest.raises(ProbeRefusedError, match="1 to 64 words"):
        run_command(client, [])


def test_a_command_ends_with_the_session() -> None:
    with closing(LocalBoard().start_probe(notify_nobody).stream) as stream:
        client = Client(stream)
        client.hello()
        client.begin(Run(0, 1000, ("sh", "-c", "echo $$; exec sleep 60")))
        output = b""
        while not output:
            output = b"".join(getattr(message, "data", b"") for message in client.pump(1.0))
    deadline = time.monotonic() + 10
    while is_alive(int(output)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(int(output))


@pytest.mark.parametrize("size", [0, 1, PIECE, PIECE + 1, 400_000])
def test_a_file_is_put_with_its_mode_and_all_of_its_bytes(
    client: Client, tmp_path: Path, size: int
) -> None:
    target, data = tmp_path / "file", os.urandom(size)
    sent: list[int] = []
    put_file(client, str(target), data, mode=0o751, on_sent=sent.append)
    assert target.read_bytes() == data
    assert target.stat().st_mode & 0o7777 == 0o751
    assert sent[-1] == size
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_is_replaced_only_when_the_new_file_is_complete(
    client: Client, tmp_path: Path
) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    checksum = xxhash.xxh64_intdigest(b"new one")
    client.call(Put(str(target), 0o600, 7, 0, checksum, b"new "))
    assert target.read_bytes() == b"old"
    client.call(Put(str(target), 0o600, 7, 4, checksum, b"one"))
    assert target.read_bytes() == b"new one"


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ([(0, 7, 1, b"new one")], "checksum"),
        ([(4, 7, 0, b"one")], "out of order"),
        ([(0, 7, 0, b"new "), (3, 7, 0, b"one")], "out of order"),
        ([(0, 2, 0, b"new one")], "too long"),
        ([(0, 7, 0, b"new "), (4, 3, 0, b"one")], "out of order"),
    ],
)
def test_an_invalid_file_is_refused_and_leaves_nothing_behind(
    client: Client, tmp_path: Path, pieces: list[tuple[int, int, int, bytes]], reason: str
) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    right = xxhash.xxh64_intdigest(b"new one")
    puts = [Put(str(target), 0o600, size, at, right + wrong, d) for at, size, wrong, d in pieces]
    with pytest.raises(ProbeRefusedError, match=reason):
        client.call_all(puts, lambda _: None)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_in_a_missing_folder_is_refused(client: Client, tmp_path: Path) -> None:
    with pytest.raises(ProbeRefusedError, match="No such file") as refused:
        put_file(client, str(tmp_path / "none" / "file"), b"x")
    assert refused.value.error == errno.ENOENT
    with pytest.raises(ProbeRefusedError, match="absolute path"):
        put_file(client, "file", b"x")


def test_an_incomplete_file_is_removed_with_the_session(tmp_path: Path) -> None:
    with closing(LocalBoard().start_probe(notify_nobody).stream) as stream:
        client = Client(stream)
        client.hello()
        client.call(Put(str(tmp_path / "file"), 0o600, 7, 0, 0, b"new "))
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []
