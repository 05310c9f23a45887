"""A secret removed from a console's output."""

from __future__ import annotations

#: What the log has in its place.
HIDDEN = b"<hidden>"


class Redactor:
    """Replaces a secret in a stream of bytes, however the stream is cut.

    What may be the secret's beginning is withheld until more comes.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what may be shown of data and of what was withheld."""
        if not self._secret:
            return data
        data = (self._held + data).replace(self._secret, HIDDEN)
        for length in range(min(len(self._secret) - 1, len(data)), 0, -1):
            if self._secret.startswith(data[-length:]):
                self._held = data[-length:]
                return data[:-length]
        self._held = b""
        return data

    def finish(self) -> bytes:
        """Return what was withheld; HIDDEN if that is most of the secret."""
        held, self._held = self._held, b""
        return HIDDEN if len(held) * 2 > len(self._secret) else held
