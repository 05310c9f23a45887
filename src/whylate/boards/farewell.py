"""How a probe is told to end over a line that it cannot see hang up."""

from __future__ import annotations

from whylate.wire.frame import FrameDecoder, encode_frame
from whylate.wire.messages import FIRST_CONTROL, Keepalive

#: A probe looks at its host's silence once in a second at least: it is asked so often to end.
ASK_TO_END_S = 1.5
#: How long it may take to put everything back, besides.
LEAVE_S = 30.0


class Farewell:
    """Reads what is sent to a probe, to know the number of the message that ends it."""

    def __init__(self) -> None:
        self._sent = FrameDecoder()
        self._last_number = 0

    def sent(self, data: bytes) -> None:
        """Take what is sent."""
        for frame in self._sent.feed(data):
            if frame.kind < FIRST_CONTROL:
                self._last_number = max(self._last_number, frame.number)

    def words(self) -> bytes:
        """Return what tells the probe to expect a word within a millisecond: it gets none."""
        told = Keepalive(1)
        return encode_frame(told.KIND, self._last_number + 1, told.pack())
