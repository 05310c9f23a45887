"""The client and a real probe, over lines that are bad, foreign, or no line to a probe at all."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bad_line import Change, Noise, RelayedStream, unchanged

from whylate.boards.qemu.port import FileStream
from whylate.probe.client import Client
from whylate.probe.errors import (
    ProbeError,
    ProbeGoneError,
    ProbeRefusedError,
    ProbeTimeoutError,
    ProbeVersionError,
)
from whylate.probe.link import Link
from whylate.recording.workloads.activations.accounting import CpuAccounting
from whylate.wire.frame import Frame, FrameDecoder, cobs_decode, cobs_encode, encode_frame
from whylate.wire.messages import (
    FIRST_CONTROL,
    PROTOCOL,
    CpuResult,
    CpuStarted,
    Hello,
    Message,
    Note,
    Read,
    Result,
    Samples,
    Wakeup,
    Welcome,
)
from whylate.wire.samples import decode_samples

#: A run over a bad line that has not ended by then will not.
PATIENCE_S = 60.0
INTERVAL_NS = 1_000_000
DURATION_NS = 5_000_000_000


# ---------------------------------------------------------------- the bar


@dataclass
class Tapped:
    """Noise on what the probe says, and the truth about it, read before the noise."""

    noise: Noise
    truth: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    decoder: FrameDecoder = field(default_factory=FrameDecoder)

    def __call__(self, data: bytes) -> bytes:
        for frame in self.decoder.feed(data):
            if 0 < frame.kind < FIRST_CONTROL:
                self.truth.setdefault(frame.number, (frame.kind, frame.payload))
        return self.noise(data)


@dataclass
class Run:
    """What came of a wakeup workload, kept as a recording would keep it."""

    books: dict[int, CpuAccounting] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    result: Result | None = None

    def receive(self, frame: Frame, message: Message) -> None:
        self.frames.append(frame)
        if isinstance(message, CpuStarted):
            self.books[message.cpu] = CpuAccounting(message)
        elif isinstance(message, Samples):
            book = self.books[message.cpu]
            rows = decode_samples(message, book.started.interval_ns, book.planned)
            assert book.add(rows), "a block contradicts the ones before it"
        elif isinstance(message, CpuResult):
            self.books[message.cpu].result = message
        elif isinstance(message, Result):
            self.result = message


def run_workload(client: Client, spool: bool) -> Iterator[Run]:
    """Run on two CPUs; yields the run after every turn, and at the end once more."""
    run = Run()
    client.on_message = run.receive
    cpus = client.hello().cpus[:2]
    client.call(Wakeup(INTERVAL_NS, DURATION_NS, 80, 0, int(spool), cpus))
    deadline = time.monotonic() + PATIENCE_S
    while run.result is None:
        client.pump(0.2)
        yield run
        assert time.monotonic() < deadline, f"the run does not end: {client.link.counts}"
    client.finish()
    yield run


def check_account(run: Run, lost: int) -> None:
    """Every activation that was planned is accounted for, and as the probe itself counted."""
    assert run.books
    for book in run.books.values():
        account, result = book.account(), book.result
        assert account.expected == book.planned
        assert account.seen + account.overrun + account.dropped == account.expected
        assert result is not None
        assert book.problems() == []
        assert account.dropped <= account.expected / 1000
        if not lost:
            assert (account.seen, account.overrun) == (result.seen, result.overrun)
            assert account.dropped == result.dropped


@pytest.mark.realtime
@pytest.mark.parametrize("spool", [False, True], ids=["shipped", "spooled"])
def test_where_one_byte_in_a_hundred_is_damaged_both_ways_no_sample_is_lost_or_wrong(
    probe: list[str], spool: bool
) -> None:
    up, down = Noise(21, 0.01), Tapped(Noise(22, 0.01))
    with closing(RelayedStream(probe, up, down)) as stream:
        client = Client(stream)
        *_, run = run_workload(client, spool)
    assert up.changed > 10
    assert down.noise.changed > 200
    counts = client.link.counts
    check_account(run, counts.lost)
    for frame in run.frames:
        assert (frame.kind, frame.payload) == down.truth[frame.number]
    assert len(run.frames) == counts.delivered
    assert len(down.truth) == counts.delivered + counts.lost
    assert counts.lost == 0
    assert counts.malformed == 0


@pytest.mark.realtime
def test_a_line_that_goes_bad_in_the_middle_of_a_run_costs_no_sample(probe: list[str]) -> None:
    up, down = Noise(23, 0.0), Tapped(Noise(24, 0.0))
    with closing(RelayedStream(probe, up, down)) as stream:
        client = Client(stream)
        for run in run_workload(client, spool=False):
            bad = bool(run.books) and 4_000 <= down.noise.bytes < 40_000
            up.rate = down.noise.rate = 0.03 if bad else 0.0
    assert client.link.frame_counts.damaged > 0
    assert client.link.counts.requests > 0
    assert client.link.counts.lost == 0
    check_account(run, 0)


# ---------------------------------------------------------------- not our probe


class Rewritten:
    """Makes every frame one of another protocol, its checksum right."""

    def __init__(self, protocol: int) -> None:
        self._protocol = protocol
        self._partial = b""

    def __call__(self, data: bytes) -> bytes:
        *ended, self._partial = (self._partial + data).split(b"\0")
        return b"".join(self._damage(encoded) for encoded in ended if encoded)

    def _damage(self, encoded: bytes) -> bytes:
        body = cobs_decode(encoded)
        number = int.from_bytes(body[2:6], "little")
        return encode_frame(body[1], number, body[6:-8], protocol=self._protocol)


@pytest.mark.parametrize(
    ("up", "down"),
    [(unchanged, Rewritten(PROTOCOL + 1)), (Rewritten(PROTOCOL + 1), Rewritten(PROTOCOL + 1))],
    ids=["only what it says is foreign", "it does not understand us either"],
)
def test_a_probe_of_another_protocol_is_distinguished_from_a_bad_line(
    probe: list[str], up: Change, down: Change
) -> None:
    with (
        closing(RelayedStream(probe, up, down)) as stream,
        pytest.raises(ProbeVersionError) as raised,
    ):
        Client(stream).hello(timeout_s=20)
    text = str(raised.value)
    assert f"protocol {PROTOCOL + 1}" in text
    assert "run the probe that came with this whylate" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "program",
    [
        "printf 'Debian GNU/Linux 13 board ttymxc0\\n\\nboard login: '; cat >/dev/null; exit",
        "exec cat",
        "head -c 2000000 /dev/urandom; cat >/dev/null; exit",
        "cat >/dev/null; exit",
    ],
    ids=["a login prompt", "an echo", "noise", "silence"],
)
def test_a_line_without_a_probe_fails_in_time_with_one_clear_line(program: str) -> None:
    with (
        closing(RelayedStream(["sh", "-c", program], unchanged, unchanged)) as stream,
        pytest.raises(ProbeTimeoutError, match="did not say hello in time"),
    ):
        Client(stream).hello(timeout_s=0.6)


def test_a_program_that_ends_at_once_is_a_probe_that_is_gone() -> None:
    with (
        closing(RelayedStream(["true"], unchanged, unchanged)) as stream,
        pytest.raises(ProbeGoneError, match="the probe is gone"),
    ):
        Client(stream).hello(timeout_s=20)


class SocketStream:
    """The client's end of a socket pair."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def fileno(self) -> int:
        return self._end.fileno()

    def read(self, size: int) -> bytes:
        return self._end.recv(size)

    def write(self, data: bytes) -> None:
        self._end.sendall(data)

    def close(self) -> None:
        self._end.close()


@pytest.fixture
def sockets() -> Iterator[tuple[SocketStream, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield SocketStream(near), far


def test_a_probe_of_another_whylate_is_refused_and_its_version_is_not_trusted(
    sockets: tuple[SocketStream, socket.socket],
) -> None:
    stream, far = sockets
    board = Link(far.sendall)
    foreign = "9.9\x1b[31m" + "x" * 500
    board.send(Welcome(foreign, "", "", "", "", "", "", 0, 0, 0, 0, 0, 0, ()))
    with pytest.raises(ProbeVersionError, match=r"of whylate '9\.9") as raised:
        Client(stream).hello(timeout_s=20)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 200


def test_all_messages_of_a_probe_that_is_gone_are_received(
    sockets: tuple[SocketStream, socket.socket],
) -> None:
    stream, far = sockets
    frames: list[bytes] = []
    board = Link(frames.append)
    notes = [Note(str(i), "x" * 2000) for i in range(70)]  # more than is read at once
    for message in notes:
        board.send(message)
    far.sendall(b"".join(frames))
    far.close()
    client, heard = Client(stream), []
    while not client.ended:
        heard += client.pump(1.0)
    with pytest.raises(ProbeGoneError):
        client.pump(1.0)
    assert heard == notes
    assert client.link.counts.lost == 0


def test_messages_outside_of_the_schema_are_counted_and_dropped(
    sockets: tuple[SocketStream, socket.socket],
) -> None:
    stream, far = sockets
    for number, (kind, payload) in enumerate([(200, b""), (Note.KIND, b"\xff"), (Hello.KIND, b"")]):
        far.sendall(encode_frame(kind, number + 1, payload))
    far.sendall(encode_frame(Note.KIND, 4, Note("a", "b").pack()))
    client = Client(stream)
    assert client.pump(5.0) == [Note("a", "b")]
    assert client.link.counts.malformed == 3


# ---------------------------------------------------------------- commands


def test_a_refused_command_is_an_error_with_the_probes_own_reason(probe: list[str]) -> None:
    with closing(RelayedStream(probe, unchanged, unchanged)) as stream:
        client = Client(stream)
        client.hello()
        with pytest.raises(ProbeRefusedError, match="invalid read") as raised:
            client.call(Read(0, 100, 0, "relative/path"))
        assert raised.value.error == errno.EINVAL
        assert isinstance(raised.value, ProbeError)
        client.call(Read(0, 100, 0, "/proc/version"))


def test_large_files_arrive_complete_over_a_bad_line(probe: list[str], tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(os.urandom(30_000))
    with closing(RelayedStream(probe, Noise(41, 0.003), Noise(42, 0.003))) as stream:
        client = Client(stream)
        client.hello()
        pieces = client.call(Read(0, 1_000_000, 0, str(file)))
    assert b"".join(getattr(piece, "data", b"") for piece in pieces) == file.read_bytes()


def test_frames_of_another_protocol_are_encoded_as_the_relay_decodes_them() -> None:
    frame = encode_frame(Hello.KIND, 1, b"\0\0")
    assert cobs_encode(cobs_decode(frame[1:-1])) == frame[1:-1]
    decoder = FrameDecoder()
    assert decoder.feed(Rewritten(PROTOCOL + 1)(frame)) == []
    assert decoder.peer_protocol == PROTOCOL + 1


# ---------------------------------------------------------------- lines that take nothing


def _notes(count: int) -> bytes:
    """Return the first frames of a probe; 40 are more than go without an acknowledgement."""
    frames: list[bytes] = []
    board = Link(frames.append)
    for number in range(count):
        board.send(Note(str(number), ""))
    return b"".join(frames)


def test_reading_a_file_that_grows_never_blocks(tmp_path: Path) -> None:
    path = tmp_path / "port"
    path.write_bytes(_notes(40))
    writing = [True]
    with closing(FileStream(path, lambda: writing[0], lambda: None)) as stream:
        client = Client(stream)
        heard: list[Message] = []
        until = time.monotonic() + PATIENCE_S
        while len(heard) < 40 and time.monotonic() < until:
            heard += client.pump(0.01)
        # Its writer is silent, and has not ended.
        assert client.pump(0.01) == []
        assert not client.ended
        writing[0] = False
        assert client.pump(PATIENCE_S) == []
        assert client.ended
    assert len(heard) == 40


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (BrokenPipeError, "the connection to the board broke"),
        (TimeoutError, "the line accepts nothing any more"),
    ],
)
def test_a_line_that_neither_accepts_nor_sends_has_ended(
    sockets: tuple[SocketStream, socket.socket],
    monkeypatch: pytest.MonkeyPatch,
    error: type[OSError],
    why: str,
) -> None:
    def refuse(_: bytes) -> None:
        raise error

    stream, far = sockets
    monkeypatch.setattr(stream, "write", refuse)
    far.sendall(_notes(40))
    client = Client(stream)
    assert len(client.pump(PATIENCE_S)) == 40
    with pytest.raises(ProbeGoneError, match=why):
        client.pump(PATIENCE_S)
