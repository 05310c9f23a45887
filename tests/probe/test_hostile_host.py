"""A real probe whose host talks nonsense: it hears on, and ends when its input does."""

from __future__ import annotations

import json
import platform
import random
from contextlib import closing
from pathlib import Path

import pytest
from bad_line import RelayedStream, unchanged

from whylate.probe.client import Client
from whylate.wire.frame import Frame, FrameDecoder, encode_frame
from whylate.wire.messages import Fragment, Mark, Marked, Welcome

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


def test_a_probe_whose_host_sends_nothing_and_leaves_ends(probe: list[str]) -> None:
    stream = RelayedStream(probe, unchanged, unchanged)
    stream.close()
    assert stream.process.returncode == 0
