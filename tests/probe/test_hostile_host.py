"""A real probe whose host talks nonsense: it hears on, and ends when its input does."""

from __future__ import annotations

import json
import platform
import random
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from bad_line import RelayedStream, unchanged

from whylate import __version__
from whylate.probe.client import Client
from whylate.probe.errors import ProbeRefusedError
from whylate.probe.link import Link
from whylate.wire.frame import Frame, FrameDecoder, encode_frame
from whylate.wire.messages import (
    BenchClock,
    BenchCommand,
    BenchMemory,
    BenchSwitch,
    Fragment,
    Frequency,
    Hello,
    Mark,
    Marked,
    Message,
    Pause,
    Read,
    Wakeup,
    Welcome,
)

GOLDEN = Path(__file__).parents[2] / "schema" / "golden" / "messages.json"


def noise(chance: random.Random, vectors: list[bytes]) -> bytes:
    """Random bytes, with and without zeros among them, and frames that each have some damage."""
    pieces = [chance.randbytes(chance.randrange(3000)) for _ in range(50)]
    pieces += [bytes(chance.randrange(1, 256) for _ in range(20_000))]
    for _ in range(600):
        raw = bytearray(chance.choice(vectors))
        raw[chance.randrange(1, len(raw) - 1)] ^= chance.randrange(1, 256)
        pieces.append(bytes(raw))
    chance.shuffle(pieces)
    return b"".join(pieces)


def nonsense(chance: random.Random, vectors: list[bytes]) -> bytes:
    """Sound frames that no host sends: what only probes say, and pieces of no frame."""
    kinds = [FrameDecoder().feed(frame)[0].kind for frame in vectors]
    pieces = [
        frame
        for frame, kind in zip(vectors, kinds, strict=True)
        if kind >= Welcome.KIND
        for _ in range(5)
    ]
    for index in range(300):
        piece = Fragment(1, 200, index % 110, chance.choice([3, 60, 65535]), b"x" * 40)
        pieces.append(encode_frame(Fragment.KIND, 0, piece.pack()))
    chance.shuffle(pieces)
    return b"".join(pieces)


@pytest.fixture(scope="module")
def vectors() -> list[bytes]:
    return [bytes.fromhex(vector["frame"]) for vector in json.loads(GOLDEN.read_text())]


@pytest.mark.parametrize("seed", [31, 32, 33])
def test_a_probe_answers_commands_after_noise(
    probe: list[str], seed: int, vectors: list[bytes]
) -> None:
    stream = RelayedStream(probe, unchanged, unchanged)
    with closing(stream):
        stream.write(noise(random.Random(seed), vectors))
        assert Client(stream).hello(timeout_s=30).machine == platform.machine()
    assert stream.process.returncode == 0


@pytest.mark.parametrize("seed", [34, 35, 36])
def test_a_probe_survives_valid_frames_of_nonsense_and_ends_with_its_input(
    probe: list[str], seed: int, vectors: list[bytes]
) -> None:
    decoder, token = FrameDecoder(), 0xC0FFEE
    stream = RelayedStream(probe, unchanged, unchanged)
    with closing(stream):
        stream.write(nonsense(random.Random(seed), vectors))
        stream.write(encode_frame(Mark.KIND, 0, Mark(token).pack()))
        heard: list[Frame] = []
        while not any(f.kind == Marked.KIND and f.payload == Mark(token).pack() for f in heard):
            data = stream.read(1 << 16)
            assert data, "the probe ended while its host was there"
            heard = decoder.feed(data)
    assert stream.process.returncode == 0


BLOCK_NS = 60_000_000_000
#: What takes the probe long, whatever of it is asked for.
LONG: dict[str, list[Message]] = {
    "a ring of processes": [BenchSwitch(0, 512, 0, 0, 0, BLOCK_NS, 1000, 0, (0,))],
    "a real-time ring": [BenchSwitch(0, 2, 2, 1, 0, 1_000_000_000, 1000, 99, (0,))],
    "a large buffer": [BenchMemory(0, 3, 2, 0, 0, 1 << 28, BLOCK_NS, 1000, 0)],
    "threads at a slow device": [BenchClock(0, 1, 3, 64, BLOCK_NS, BLOCK_NS, BLOCK_NS, 1000, ())],
    "a command": [BenchCommand(0, ("sh", "-c", "trap '' TERM; sleep 100 & sleep 100"))],
    "frequencies": [Frequency((0,) * 1000)] * 20,
    "files": [Read(0, 1 << 20, 0, "/proc/*/task/*/*")] * 20,
    "a pause": [Pause(60_000)],
    "wakeups": [Wakeup(10_000_000_000, 30 * 86_400 * 10**9, 1, 0, 1, (0,))],
}


@pytest.mark.parametrize("what", LONG)
@pytest.mark.parametrize("planned", [False, True], ids=["host", "plan"])
def test_a_probe_ends_soon_when_its_host_is_gone_whatever_it_does(
    probe: list[str], what: str, planned: bool, tmp_path: Path
) -> None:
    frames = bytearray()
    link = Link(frames.extend)
    link.send(Hello(__version__))
    for command in LONG[what]:
        link.send(command)
    (tmp_path / "plan").write_bytes(frames)
    words = [*probe, "--plan", str(tmp_path / "plan")] if planned else probe
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if not planned:
            process.stdin.write(frames)
            process.stdin.flush()
        time.sleep(0.7)
        process.stdout.close()
        process.stdin.close()
        began = time.monotonic()
        process.wait(30)
        # Two seconds, and what a busy machine takes.
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "command",
    [
        BenchSwitch(0, 2, 0, 0, 0, BLOCK_NS + 1, 1, 0, ()),
        BenchSwitch(0, 2, 0, 0, 0, 1_000_000_001, 1, 1, ()),
        BenchMemory(0, 0, 0, 0, 0, 4096, BLOCK_NS, 1001, 0),
        Pause(60_001),
        Wakeup(10_000_000_001, 10**12, 1, 0, 0, (0,)),
        Wakeup(10**9, 31 * 86_400 * 10**9, 1, 0, 0, (0,)),
        Frequency((8192,)),
    ],
)
def test_what_is_out_of_its_range_is_refused(probe: list[str], command: Message) -> None:
    with closing(RelayedStream(probe, unchanged, unchanged)) as stream:
        client = Client(stream)
        client.hello(timeout_s=30)
        with pytest.raises(ProbeRefusedError, match=r"invalid .* (out of its range|at most)"):
            client.call(command)


def test_a_probe_whose_host_sends_nothing_and_leaves_ends(probe: list[str]) -> None:
    stream = RelayedStream(probe, unchanged, unchanged)
    stream.close()
    assert stream.process.returncode == 0
