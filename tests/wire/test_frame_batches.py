"""Frames that are cut many at a time are those that are cut one at a time."""

from __future__ import annotations

import random

import pytest

from whylate.wire.frame import Frame, FrameDecoder, encode_frame
from whylate.wire.frame_batches import FrameBatchDecoder
from whylate.wire.messages import PROTOCOL

KINDS = frozenset({5, 69, 80, 81})


def stream(chance: random.Random, frames: int = 200) -> bytes:
    """Return frames of bytes that are hard for COBS, some of another protocol."""
    sent = []
    for _ in range(frames):
        size = chance.choice([0, 1, 30, 253, 254, 255, 256, 600])
        payload = bytes(chance.choice([0, 1, 255, chance.randrange(256)]) for _ in range(size))
        protocol = chance.choice([PROTOCOL, PROTOCOL, PROTOCOL, PROTOCOL + 1])
        kind = chance.choice([*KINDS, chance.randrange(1, 256)])
        sent.append(encode_frame(kind, chance.randrange(1 << 32), payload, protocol))
    return b"".join(sent)


def batched(data: bytes, decoder: FrameBatchDecoder, chance: random.Random) -> list[Frame]:
    """Return the frames of data that comes in pieces."""
    frames, at = [], 0
    while at < len(data):
        size = chance.choice([1, 7, 50, 1000, 100_000])
        batch = decoder.feed(data[at : at + size])
        frames += [batch.frame(index) for index in range(len(batch))]
        at += size
    return frames


@pytest.mark.parametrize("damaged", [0, 5, 100, 2000])
@pytest.mark.parametrize("longest", [4096, 300, 100])
def test_many_frames_at_once_are_what_each_is(damaged: int, longest: int) -> None:
    chance = random.Random(1000 * damaged + longest)
    for _ in range(4):
        data = bytearray(stream(chance))
        for _ in range(damaged):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 255, chance.randrange(256)])
        single, many = FrameDecoder(longest), FrameBatchDecoder(longest)
        assert batched(bytes(data), many, chance) == single.feed(bytes(data))
        assert many.counts == single.counts


@pytest.mark.parametrize("damaged", [0, 100])
def test_frames_of_some_kinds_alone_are_found(damaged: int) -> None:
    chance = random.Random(damaged)
    data = bytearray(stream(chance))
    for _ in range(damaged):
        data[chance.randrange(len(data))] = chance.randrange(256)
    single, many = FrameDecoder(only=KINDS), FrameBatchDecoder(only=KINDS)
    frames = batched(bytes(data), many, chance)
    assert frames == single.feed(bytes(data))
    assert frames
    assert (many.counts.good, many.counts.damaged) == (single.counts.good, single.counts.damaged)
