"""How a probe is made to end over a line that it cannot see hang up."""

from __future__ import annotations

from whylate.wire.frame import FrameDecoder, encode_frame
from whylate.wire.messages import FIRST_CONTROL, Keepalive

#: A probe checks its host's silence at least once a second; the request is repeated this often.
REQUEST_S = 1.5
#: How long the probe may take to restore the board, besides.
LEAVE_S = 30.0


class ShutdownRequest:
    """Follows what is sent to a probe, to know the number of the message that ends it."""

    def __init__(self) -> None:
        self._sent = FrameDecoder()
        self._last_number = 0

    def observe(self, data: bytes) -> None:
        """Note the numbers of the frames in data, which is sent to the probe."""
        for frame in self._sent.feed(data):
            if frame.kind < FIRST_CONTROL:
                self._last_number = max(self._last_number, frame.number)

    def encode(self) -> bytes:
        """Return a keepalive of one millisecond: the probe hears nothing in that time and ends."""
        keepalive = Keepalive(1)
        return encode_frame(keepalive.KIND, self._last_number + 1, keepalive.pack())
