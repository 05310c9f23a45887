"""Two links, and between them a line and a clock that do what a test says."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from whylate.probe.link import Link
from whylate.wire.frame import Frame, encode_frame
from whylate.wire.messages import Message, Note

#: Makes of the frames that were written in one turn the pieces that arrive.
Line = Callable[[list[bytes]], Iterable[bytes]]


def clean(frames: list[bytes]) -> list[bytes]:
    return frames


def note(length: int) -> Note:
    return Note("n", "x" * length)


def control(message: Message) -> bytes:
    return encode_frame(message.KIND, 0, message.pack())


@dataclass
class Damage:
    """Replaces bytes, drops, doubles and reorders frames, each with its probability."""

    seed: int
    byte: float = 0.0
    drop: float = 0.0
    double: float = 0.0
    swap: float = 0.0
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def _hit(self, probability: float) -> bool:
        return probability > 0 and self._random.random() < probability

    def __call__(self, frames: list[bytes]) -> list[bytes]:
        out: list[bytes] = []
        for frame in frames:
            if self._hit(self.drop):
                continue
            raw = bytes(b ^ self._random.randint(1, 255) if self._hit(self.byte) else b
                        for b in frame) if self.byte else frame  # fmt: skip
            out.append(raw)
            if self._hit(self.double):
                out.append(raw)
        for i in range(len(out) - 1):
            if self._hit(self.swap):
                out[i], out[i + 1] = out[i + 1], out[i]
        return out


@dataclass
class Narrow:
    """Carries so many bytes a turn, in order; the rest waits."""

    bytes_a_turn: int
    then: Line = clean
    carried: int = 0
    _waiting: bytes = b""

    def __call__(self, frames: list[bytes]) -> Iterable[bytes]:
        self._waiting += b"".join(frames)
        now, self._waiting = (
            self._waiting[: self.bytes_a_turn],
            self._waiting[self.bytes_a_turn :],
        )
        self.carried += len(now)
        return self.then([now])


class Pair:
    """Two links whose clock stands still between turns."""

    TURN_S = 0.01

    def __init__(self, down: Line = clean, up: Line = clean) -> None:
        self.now_s = 100.0
        self.down, self.up = down, up
        self._down: list[bytes] = []
        self._up: list[bytes] = []
        #: The probe's end, as far as a link can tell, and the host's.
        self.board = Link(self._down.append, lambda: self.now_s)
        self.host = Link(self._up.append, lambda: self.now_s)
        self.at_host: list[Frame] = []
        self.at_board: list[Frame] = []

    def turn(self) -> None:
        """Carry what was written before this turn, and let its time pass."""
        self.now_s += self.TURN_S
        down, up = list(self._down), list(self._up)
        self._down.clear()
        self._up.clear()
        for piece in self.down(down):
            self.at_host += self.host.receive(piece)
        for piece in self.up(up):
            self.at_board += self.board.receive(piece)
        self.at_host += self.host.tick()
        self.at_board += self.board.tick()

    def settle(self, limit_s: float = 600.0) -> float:
        """Take turns until both ends know that all has arrived; returns the seconds it took."""
        begin = self.now_s
        while not (self.board.all_acknowledged and self.host.all_acknowledged):
            assert self.now_s - begin < limit_s, "the links do not come to rest"
            self.turn()
        return self.now_s - begin

    def written(self, message: Message) -> bytes:
        """Send from the board, and return the frame instead of carrying it."""
        self.board.send(message)
        return self._down.pop()
