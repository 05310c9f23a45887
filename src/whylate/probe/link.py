"""The link: numbered messages, in order, over a stream that may lose and damage bytes.

Both ends keep what they sent until the other acknowledges it, and ask again for what is
missing. A frame that is asked for again goes out in fragments of FRAGMENT_SIZE bytes: where one
byte in a hundred is damaged, a frame of 4 KiB never arrives whole, but its pieces do. What makes
no headway for GIVE_UP_S is given up and counted as lost, never guessed.

How long an answer takes is learnt from the answers, and that it was asked for too soon from what
comes twice: on a slow line answers queue up for seconds, and asking again meanwhile would only make
the queue longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from whylate.wire.frame import Frame, FrameCounts, FrameDecoder, encode_frame
from whylate.wire.messages import (
    FIRST_CONTROL,
    FRAGMENT_SIZE,
    MAX_PAYLOAD,
    Ack,
    Fragment,
    Message,
    Resend,
    Tail,
)
from whylate.wire.pack import WireError

#: An acknowledgement goes out at the latest after that many frames, or that many seconds.
ACK_FRAMES = 16
ACK_S = 0.05
#: A missing frame is asked for again after twice the time that answers take of late, or that time
#: after the last of its pieces came. It lies between these bounds.
ANSWER_S = 0.03
SLOWEST_ANSWER_S = 5.0
#: A line on which nothing came for this long, or twice as long as the quickest answer took, has
#: nothing queued: whatever is missing is asked for again.
QUIET_S = 0.3
#: Requests that go out at once at most.
ASK_FRAMES = 64
#: What comes no nearer for this long, or eight times as long as answers take, is lost.
GIVE_UP_S = 20.0
#: After this long without an acknowledgement the number of the last frame is said again.
TAIL_S = 0.3
#: Frames that may wait for a missing one before it; more are dropped and asked for later.
MAX_WAITING = 4096


@dataclass(slots=True)
class LinkCounts:
    """What the receiving side met, besides what the frame decoder counts."""

    delivered: int = 0
    missing: int = 0
    reordered: int = 0
    duplicate: int = 0
    malformed: int = 0
    requests: int = 0
    lost: int = 0


@dataclass(slots=True)
class _Missing:
    """A frame that did not arrive: when something of it was last heard of, and its pieces."""

    #: When it was missed, or when its latest piece came.
    since: float
    asked_at: float | None = None
    asked: int = 0
    kind: int = 0
    total: int = 0
    pieces: dict[int, bytes] = field(default_factory=dict)

    def bitmap(self) -> bytes:
        bits = bytearray((self.total + 7) // 8)
        for index in self.pieces:
            bits[index // 8] |= 1 << index % 8
        return bytes(bits)


class Link:
    """One end of the wire. It does no I/O: `write` takes bytes out, `receive` takes them in."""

    def __init__(
        self, write: Callable[[bytes], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._clock = clock
        self._decoder = FrameDecoder()
        self.counts = LinkCounts()
        self._sent: dict[int, tuple[int, bytes]] = {}
        self._last_sent = 0
        self._sent_at = 0.0
        self._expected = 1
        self._highest = 0
        self._waiting: dict[int, Frame] = {}
        self._missing: dict[int, _Missing] = {}
        self._unacknowledged = 0
        self._delivered_at = 0.0
        self._answer_s = ANSWER_S
        self._quickest_s = SLOWEST_ANSWER_S
        self._patient_at = self._heard_at = clock()
        #: Set where writing failed: the other end is gone, what it sent before may still come.
        self.broken = False

    @property
    def frame_counts(self) -> FrameCounts:
        """What the frame decoder met."""
        return self._decoder.counts

    @property
    def foreign_protocol(self) -> int | None:
        """The other end's protocol version where it is not ours, else None."""
        return self._decoder.foreign_protocol

    @property
    def all_acknowledged(self) -> bool:
        """Whether the other end has everything that was sent."""
        return not self._sent

    @property
    def busy(self) -> bool:
        """Whether time alone may ask for something to be done: tick() should not wait long."""
        return bool(self._missing or self._sent or self._unacknowledged)

    def send(self, message: Message) -> int:
        """Send a numbered message and return its number.

        Raises WireError if it is too long, and OSError as `write` does.
        """
        payload = message.pack()
        if len(payload) > MAX_PAYLOAD:
            raise WireError(f"a {type(message).__name__} of {len(payload)} bytes is too long")
        self._last_sent += 1
        self._sent[self._last_sent] = (message.KIND, payload)
        self._sent_at = self._clock()
        self._write(encode_frame(message.KIND, self._last_sent, payload))
        return self._last_sent

    def receive(self, data: bytes) -> list[Frame]:
        """Take bytes from the stream; return the frames that are next in order. Never raises."""
        delivered: list[Frame] = []
        self._heard_at = self._clock()
        for frame in self._decoder.feed(data):
            try:
                if frame.kind >= FIRST_CONTROL:
                    self._control(frame, delivered)
                else:
                    self._numbered(frame, delivered)
            except WireError:
                self.counts.malformed += 1
        return delivered + self.tick()

    def tick(self) -> list[Frame]:
        """Do what time asks for; return frames that waited for one that is now given up.

        Never raises.
        """
        now = self._clock()
        delivered = self._give_up(now)
        self._ask_again(now)
        if self._unacknowledged and (
            self._unacknowledged >= ACK_FRAMES or now - self._delivered_at >= ACK_S
        ):
            self._unacknowledged = 0
            self._control_out(Ack(self._expected))
        if self._sent and now - self._sent_at >= TAIL_S:
            self._sent_at = now
            self._control_out(Tail(self._last_sent))
        return delivered

    # -- receiving

    def _numbered(self, frame: Frame, delivered: list[Frame]) -> None:
        number = frame.number
        if number < self._expected or number in self._waiting:
            self._duplicate()
            # The other end did not hear that it is here: say so again.
            self._unacknowledged += 1
            return
        if number >= self._expected + MAX_WAITING:
            return
        missing = self._missing.pop(number, None)
        if missing is None:
            self._notice(number)
        elif missing.asked_at is None:
            self.counts.reordered += 1
        else:
            self._answered(missing)
        self._waiting[number] = frame
        self._deliver(delivered)

    def _notice(self, number: int) -> None:
        """Note what lies between the highest number so far and this one as missing."""
        for absent in range(max(self._highest + 1, self._expected), number):
            self._missing[absent] = _Missing(self._clock())
            self.counts.missing += 1
        self._highest = max(self._highest, number)

    def _deliver(self, delivered: list[Frame]) -> None:
        while self._expected in self._waiting:
            delivered.append(self._waiting.pop(self._expected))
            self._expected += 1
            self.counts.delivered += 1
            if not self._unacknowledged:
                self._delivered_at = self._clock()
            self._unacknowledged += 1

    def _control(self, frame: Frame, delivered: list[Frame]) -> None:
        if frame.kind == Ack.KIND:
            upto = Ack.unpack(frame.payload).next
            if upto <= self._last_sent + 1:
                for number in [n for n in self._sent if n < upto]:
                    del self._sent[number]
        elif frame.kind == Resend.KIND:
            self._resend(Resend.unpack(frame.payload))
        elif frame.kind == Tail.KIND:
            last = Tail.unpack(frame.payload).last
            if self._highest < last < self._expected + MAX_WAITING:
                self._notice(last + 1)
                self._highest = last
            elif last < self._expected:
                self._unacknowledged += 1
        elif frame.kind == Fragment.KIND:
            self._fragment(Fragment.unpack(frame.payload), delivered)
        else:
            self.counts.malformed += 1

    def _fragment(self, piece: Fragment, delivered: list[Frame]) -> None:
        missing = self._missing.get(piece.number)
        if missing is None:
            self._duplicate()
            return
        if not _fits(piece) or (missing.pieces and missing.total != piece.total):
            self.counts.malformed += 1
            return
        if piece.index in missing.pieces:
            self._duplicate()
            return
        self._answered(missing)
        missing.kind, missing.total = piece.kind, piece.total
        missing.pieces[piece.index] = piece.data
        if len(missing.pieces) == missing.total:
            payload = b"".join(missing.pieces[i] for i in range(missing.total))
            del self._missing[piece.number]
            self._waiting[piece.number] = Frame(missing.kind, piece.number, payload)
            self._deliver(delivered)

    def _answered(self, missing: _Missing) -> None:
        """Learn how long answers take from one that was asked for once (Karn & Partridge 1987)."""
        now = self._clock()
        if missing.asked_at is not None and missing.asked == 1 and not missing.pieces:
            took = now - missing.asked_at
            smooth = max(took, 0.9 * self._answer_s + 0.1 * took)
            self._answer_s = min(max(smooth, ANSWER_S), SLOWEST_ANSWER_S)
            self._quickest_s = min(self._quickest_s, took)
        missing.since = now

    def _duplicate(self) -> None:
        """Count what came twice, and be more patient: its first answer was still on its way."""
        self.counts.duplicate += 1
        now = self._clock()
        if now - self._patient_at >= self._answer_s:
            self._patient_at = now
            self._answer_s = min(1.5 * self._answer_s, SLOWEST_ANSWER_S)

    def _ask_again(self, now: float) -> None:
        budget = ASK_FRAMES
        quiet_s = QUIET_S
        if self._quickest_s < SLOWEST_ANSWER_S:
            quiet_s = max(quiet_s, 2 * self._quickest_s)
        quiet_at = self._heard_at + quiet_s
        for number, missing in self._missing.items():
            if missing.asked_at is not None:
                due = missing.asked_at + 2 * self._answer_s
                if missing.pieces and missing.since > missing.asked_at:
                    due = missing.since + self._answer_s
                if now < min(due, max(quiet_at, missing.asked_at + quiet_s)):
                    continue
                if now < due:
                    self._answer_s = max(0.9 * self._answer_s, ANSWER_S)
            missing.asked_at = now
            missing.asked += 1
            self.counts.requests += 1
            self._control_out(Resend(number, 1, missing.bitmap()))
            budget -= 1
            if not budget:
                break

    def _give_up(self, now: float) -> list[Frame]:
        delivered: list[Frame] = []
        limit_s = max(GIVE_UP_S, 8 * self._answer_s)
        while (first := self._missing.get(self._expected)) and now - first.since >= limit_s:
            del self._missing[self._expected]
            self._expected += 1
            self.counts.lost += 1
            self._unacknowledged += 1
            self._deliver(delivered)
        return delivered

    def abandon(self) -> list[Frame]:
        """Give up all that is missing, because the stream has ended; return what waited."""
        delivered: list[Frame] = []
        while self._expected <= self._highest:
            if self._missing.pop(self._expected, None) is not None:
                self._expected += 1
                self.counts.lost += 1
            self._deliver(delivered)
        return delivered

    # -- sending

    def _out(self, encoded: bytes) -> None:
        """Write what nobody waits for: where that fails, what is still to be read is not lost."""
        if self.broken:
            return
        try:
            self._write(encoded)
        except OSError:
            self.broken = True

    def _control_out(self, message: Message) -> None:
        self._out(encode_frame(message.KIND, 0, message.pack()))

    def _resend(self, request: Resend) -> None:
        for number in range(request.first, min(request.first + request.count, self._last_sent + 1)):
            if number not in self._sent:
                continue
            kind, payload = self._sent[number]
            if len(payload) <= FRAGMENT_SIZE:
                self._out(encode_frame(kind, number, payload))
                continue
            total = -(-len(payload) // FRAGMENT_SIZE)
            for index in range(total):
                at = index // 8
                if at < len(request.have) and request.have[at] >> index % 8 & 1:
                    continue
                data = payload[index * FRAGMENT_SIZE : (index + 1) * FRAGMENT_SIZE]
                self._control_out(Fragment(number, kind, index, total, data))


def _fits(piece: Fragment) -> bool:
    """Whether a piece has the size that its place in the frame calls for."""
    last = piece.index + 1 == piece.total
    return (
        piece.index < piece.total
        and piece.kind < FIRST_CONTROL
        and (0 < len(piece.data) <= FRAGMENT_SIZE if last else len(piece.data) == FRAGMENT_SIZE)
        and piece.index * FRAGMENT_SIZE + len(piece.data) <= MAX_PAYLOAD
        and piece.total <= -(-MAX_PAYLOAD // FRAGMENT_SIZE)
    )
