"""The link: numbered messages, in order, over a stream that may lose and damage bytes.

Both ends keep what they sent until the other acknowledges it, and request what is missing. A frame
is sent again in fragments of FRAGMENT_SIZE bytes: where one byte in a hundred is damaged, a frame
of 4 KiB never arrives whole, but its fragments do. A frame without progress for GIVE_UP_S is given
up and counted as lost, never guessed.

A slow line may hold seconds of answers, and repeated requests would only lengthen the queue. So
each round of requests ends with a mark, which the other end answers after all that was requested
before: only what is still missing then is requested again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from whylate.wire.codec import WireError
from whylate.wire.frame import Frame, FrameCounts, FrameDecoder, encode_frame
from whylate.wire.messages import (
    FIRST_CONTROL,
    FRAGMENT_SIZE,
    MAX_PAYLOAD,
    Ack,
    Fragment,
    Mark,
    Marked,
    Message,
    Resend,
    Tail,
)

#: An acknowledgement is sent after at most this many frames, or seconds.
ACK_FRAMES = 16
ACK_S = 0.05
#: An unanswered mark is repeated after this long, then after 1.5 times as long ….
MARK_S = 0.05
SLOWEST_MARK_S = 2.0
#: The most requests per round.
ASK_FRAMES = 64
#: A frame without progress for this long is lost: if the line was silent, or after IN_VAIN rounds.
GIVE_UP_S = 20.0
IN_VAIN = 100
#: A frame without progress for this long is lost, whatever else arrives.
GIVE_UP_ANYWAY_S = 120.0
#: After this long without an acknowledgement the number of the last frame is repeated.
TAIL_S = 0.3
#: The most bytes that are sent again for the requests in one piece of the stream: the other end
#: requests again what it still misses.
RESEND_BYTES = 1 << 18
#: Frames that may wait for an earlier one; more are dropped and requested later.
MAX_WAITING = 4096


@dataclass(slots=True)
class LinkCounts:
    """Counts of the receiving side, besides those of the frame decoder."""

    delivered: int = 0
    missing: int = 0
    reordered: int = 0
    duplicate: int = 0
    malformed: int = 0
    requests: int = 0
    lost: int = 0


@dataclass(slots=True)
class _Missing:
    """A frame that did not arrive, and its pieces so far."""

    #: When it was noticed to be missing, or when its latest piece came.
    since: float
    #: The latest round in which it was requested, and the rounds since a piece of it came.
    asked: int = 0
    in_vain: int = 0
    kind: int = 0
    total: int = 0
    pieces: dict[int, bytes] = field(default_factory=dict)

    def bitmap(self) -> bytes:
        bits = bytearray((self.total + 7) // 8)
        for index in self.pieces:
            bits[index // 8] |= 1 << index % 8
        return bytes(bits)


class Link:
    """One end of the wire. It does no I/O: it sends by `write`, and receive() gets the bytes."""

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
        self._heard_at = clock()
        self._resend_left = RESEND_BYTES
        #: Rounds of requests so far, and the last answered round.
        self._round = 0
        self._answered = 0
        self._mark_at = 0.0
        self._mark_s = MARK_S
        #: Why writing failed, if it did: the other end is gone, but its last bytes may still come.
        self.broken: OSError | None = None

    @property
    def frame_counts(self) -> FrameCounts:
        """Counts of the frame decoder."""
        return self._decoder.counts

    @property
    def peer_protocol(self) -> int | None:
        """The other end's protocol version where it is not ours, else None."""
        return self._decoder.peer_protocol

    @property
    def heard_at(self) -> float:
        """When the last bytes came, by the link's clock."""
        return self._heard_at

    def ping(self) -> None:
        """Make the other end answer, if it lives."""
        self._control_out(Mark(self._round))

    @property
    def all_acknowledged(self) -> bool:
        """Whether the other end has everything that was sent."""
        return not self._sent

    @property
    def busy(self) -> bool:
        """Whether a timer runs: tick() is due soon."""
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
        """Process bytes of the stream; return the frames that are next in order. Never raises."""
        delivered: list[Frame] = []
        self._heard_at = self._clock()
        self._resend_left = RESEND_BYTES
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
        """Run the timers; return frames that waited for one that is now given up.

        Never raises.
        """
        now = self._clock()
        delivered = self._give_up(now)
        self._request_missing(now)
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
            self.counts.duplicate += 1
            # The acknowledgement was lost: repeat it.
            self._unacknowledged += 1
            return
        if number >= self._expected + MAX_WAITING:
            return
        missing = self._missing.pop(number, None)
        if missing is None:
            self._notice(number)
        elif not missing.asked:
            self.counts.reordered += 1
        self._waiting[number] = frame
        self._deliver(delivered)

    def _notice(self, number: int) -> None:
        """Record the frames between the highest number so far and this one as missing."""
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
        payload = frame.payload
        if frame.kind == Fragment.KIND:
            self._fragment(Fragment.unpack(payload), delivered)
        elif frame.kind == Ack.KIND:
            self._acknowledged(Ack.unpack(payload).next)
        elif frame.kind == Resend.KIND:
            self._resend(Resend.unpack(payload))
        elif frame.kind == Tail.KIND:
            self._tail(Tail.unpack(payload).last)
        elif frame.kind == Mark.KIND:
            self._control_out(Marked(Mark.unpack(payload).token))
        elif frame.kind == Marked.KIND:
            self._marked(Marked.unpack(payload).token)
        else:
            self.counts.malformed += 1

    def _acknowledged(self, upto: int) -> None:
        if upto <= self._last_sent + 1:
            for number in [n for n in self._sent if n < upto]:
                del self._sent[number]

    def _tail(self, last: int) -> None:
        if self._highest < last < self._expected + MAX_WAITING:
            self._notice(last + 1)
            self._highest = last
        elif last < self._expected:
            self._unacknowledged += 1

    def _marked(self, token: int) -> None:
        if token <= self._round:
            self._answered = max(self._answered, token)

    def _fragment(self, piece: Fragment, delivered: list[Frame]) -> None:
        missing = self._missing.get(piece.number)
        if missing is None:
            self.counts.duplicate += 1
            return
        if not _fits(piece) or (missing.pieces and missing.total != piece.total):
            self.counts.malformed += 1
            return
        if piece.index in missing.pieces:
            self.counts.duplicate += 1
            return
        missing.since, missing.in_vain = self._clock(), 0
        missing.kind, missing.total = piece.kind, piece.total
        missing.pieces[piece.index] = piece.data
        if len(missing.pieces) == missing.total:
            payload = b"".join(missing.pieces[i] for i in range(missing.total))
            del self._missing[piece.number]
            self._waiting[piece.number] = Frame(missing.kind, piece.number, payload)
            self._deliver(delivered)

    def _request_missing(self, now: float) -> None:
        budget = ASK_FRAMES
        awaited = False
        for number, missing in self._missing.items():
            if missing.asked > self._answered:
                awaited = True
                continue
            missing.asked = self._round + 1
            missing.in_vain += 1
            self.counts.requests += 1
            self._control_out(Resend(number, 1, missing.bitmap()))
            budget -= 1
            if not budget:
                break
        if budget < ASK_FRAMES:
            self._round += 1
            self._mark_s = MARK_S
        elif awaited and now - self._mark_at >= self._mark_s:
            self._mark_s = min(1.5 * self._mark_s, SLOWEST_MARK_S)
        else:
            return
        self._mark_at = now
        self._control_out(Mark(self._round))

    def _give_up(self, now: float) -> list[Frame]:
        delivered: list[Frame] = []
        silent = now - self._heard_at >= GIVE_UP_S
        while first := self._missing.get(self._expected):
            in_vain = silent or first.in_vain > IN_VAIN
            if now - first.since < (GIVE_UP_S if in_vain else GIVE_UP_ANYWAY_S):
                break
            del self._missing[self._expected]
            self._expected += 1
            self.counts.lost += 1
            self._unacknowledged += 1
            self._deliver(delivered)
        return delivered

    def abandon(self) -> list[Frame]:
        """Give up all missing frames, because the stream has ended; return those that waited."""
        delivered: list[Frame] = []
        while self._expected <= self._highest:
            if self._missing.pop(self._expected, None) is not None:
                self._expected += 1
                self.counts.lost += 1
            self._deliver(delivered)
        return delivered

    # -- sending

    def _out(self, encoded: bytes) -> None:
        """Write, and record a failure: what is still readable must not be lost."""
        if self.broken:
            return
        try:
            self._write(encoded)
        except OSError as error:
            self.broken = error

    def _control_out(self, message: Message) -> None:
        self._out(encode_frame(message.KIND, 0, message.pack()))

    def _resend(self, request: Resend) -> None:
        for number in range(request.first, min(request.first + request.count, self._last_sent + 1)):
            if number not in self._sent:
                continue
            if self._resend_left <= 0:
                return
            kind, payload = self._sent[number]
            self._resend_left -= len(payload) + FRAGMENT_SIZE
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
    """Return whether a piece has the size that its index requires."""
    last = piece.index + 1 == piece.total
    return (
        piece.index < piece.total
        and piece.kind < FIRST_CONTROL
        and (0 < len(piece.data) <= FRAGMENT_SIZE if last else len(piece.data) == FRAGMENT_SIZE)
        and piece.index * FRAGMENT_SIZE + len(piece.data) <= MAX_PAYLOAD
        and piece.total <= -(-MAX_PAYLOAD // FRAGMENT_SIZE)
    )
