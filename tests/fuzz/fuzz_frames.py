"""The host's link: whatever a board sends is counted, and no more."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fuzz_case
from journals import opening

from whylate.probe.link import Link
from whylate.recording.decoder import JournalDecoder
from whylate.recording.recorder.assembler import WindowAssembler
from whylate.recording.recorder.raw_events import Names
from whylate.recording.workloads.activations import RecorderPlan
from whylate.run.tally import Tally
from whylate.wire.codec import Message, WireError
from whylate.wire.frame import Frame, encode_frame
from whylate.wire.messages import FIRST_CONTROL, MESSAGES

GOLDEN = Path(__file__).parents[2] / "schema" / "golden" / "messages.json"
TEXT = ["", "x", "no-recorder", "\0", "\udcff" * 3, "x" * 300]
FRAMES = 200


@dataclass
class Windows:
    """A writer of windows that keeps none."""

    count: int = 0

    def add(self, *_: object) -> None:
        self.count += 1


def leb128(chance: random.Random) -> bytes:
    """A block of numbers, some of them cut or too long."""
    out = bytearray()
    for _ in range(chance.choice([0, 1, 1, 2, 3, 9, 30])):
        value = abs(fuzz_case.number(chance)) if chance.random() < 0.3 else chance.randrange(300)
        while value > 0x7F:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
    return fuzz_case.damage(chance, bytes(out), 2) if chance.random() < 0.1 else bytes(out)


def made(chance: random.Random, kind: type[Message]) -> Message:
    """A message with values at the bounds of its ranges, or anywhere."""
    values: dict[str, Any] = {}
    for name in kind.__struct_fields__:
        type_name = kind.__annotations__[name]
        least, most = kind.RANGES.get(name, (0, 4))

        def pick(least: int = least, most: int = most) -> int:
            where = chance.random()
            if where < 0.6:
                return chance.choice([least, most, least + 1, min(3, most), max(least, 0)])
            return chance.randint(0, 6) if where < 0.8 else fuzz_case.number(chance)

        if type_name == "Text":
            values[name] = chance.choice(TEXT)
        elif type_name == "Blob":
            values[name] = leb128(chance)
        elif type_name == "ListText":
            values[name] = tuple(chance.choices(TEXT, k=chance.randrange(4)))
        elif type_name.startswith("List"):
            values[name] = tuple(pick() for _ in range(chance.choice([0, 1, 2, 8])))
        elif name == "count":
            values[name] = chance.choice([0, 1, 2, 3, 65535])
        else:
            values[name] = pick()
    return kind(**values)


@dataclass
class FramesCase:
    """A stream of frames, through a link, the tally of a run and the decoder of its journal."""

    kinds: list[type[Message]] = field(default_factory=lambda: list(MESSAGES.values()))
    golden: list[bytes] = field(default_factory=list)
    stream: bytes = b""

    def __post_init__(self) -> None:
        self.golden = [bytes.fromhex(v["frame"]) for v in json.loads(GOLDEN.read_text())]

    def piece(self, chance: random.Random, at: int) -> bytes:
        kind = chance.choice(self.kinds)
        where = chance.random()
        if where < 0.03:
            return fuzz_case.damage(chance, chance.choice(self.golden))
        if where < 0.05:
            return chance.randbytes(chance.randrange(40))
        ahead = chance.choice([at, at, at, at + 1, at + 4000, abs(fuzz_case.number(chance))])
        number = 0 if kind.KIND >= FIRST_CONTROL else ahead & 0xFFFFFFFF
        try:
            return encode_frame(kind.KIND, number, made(chance, kind).pack())
        except WireError:
            return encode_frame(kind.KIND, number, chance.randbytes(chance.randrange(60)))

    def __call__(self, chance: random.Random) -> int:
        pieces = [self.piece(chance, at) for at in range(1, FRAMES + 1)]
        self.stream = b"".join(pieces)
        written: list[int] = []
        now = [5.0]
        link = Link(lambda data: written.append(len(data)), lambda: now[0])
        begun = opening(RecorderPlan())
        writer: Any = Windows()
        decoder = JournalDecoder(begun, lambda *_: None, WindowAssembler(writer, Names(), "x86_64"))
        tally = Tally(begun.plan)
        at = 0
        while at < len(self.stream):
            size = chance.choice([1, 40, 500, 5000])
            self.take(link.receive(self.stream[at : at + size]), decoder, tally)
            at += size
            if chance.random() < 0.05:
                now[0] += chance.choice([0.1, 30.0, 200.0])
                self.take(link.tick(), decoder, tally)
        self.take(link.abandon(), decoder, tally)
        decoder.close()
        # What it answers is bounded by what it got.
        if sum(written) > 40_000 * FRAMES:
            raise AssertionError(f"{sum(written)} bytes were answered")
        return FRAMES

    def take(self, frames: list[Frame], decoder: JournalDecoder, tally: Tally) -> None:
        for frame in frames:
            decoder.add(frame)
            kind = MESSAGES.get(frame.kind)
            try:
                if kind is not None:
                    tally.add(kind.unpack(frame.payload))
            except WireError:
                continue
        tally.progress(1.0)


def run(seed: int, seconds: float) -> fuzz_case.Result:
    """Fuzz the link for some seconds."""
    case = FramesCase()
    keep: Callable[[Path], object] = lambda path: path.write_bytes(case.stream)  # noqa: E731
    return fuzz_case.fuzz("frames", case, seed, seconds, keep)
