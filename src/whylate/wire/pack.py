"""Fields to bytes and back: the layout that schema/wire.toml describes."""

from __future__ import annotations

import struct


class WireError(Exception):
    """Bytes that are not what the wire's schema says."""


class Writer:
    """Appends fields, little-endian; raises WireError for values that have no room."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def _integer(self, code: str, value: int) -> None:
        try:
            self._parts.append(struct.pack("<" + code, value))
        except struct.error as error:
            raise WireError(f"{value} does not fit its field: {error}") from None

    def u8(self, value: int) -> None:
        """Append one byte."""
        self._integer("B", value)

    def u16(self, value: int) -> None:
        """Append two bytes."""
        self._integer("H", value)

    def u32(self, value: int) -> None:
        """Append four bytes."""
        self._integer("I", value)

    def u64(self, value: int) -> None:
        """Append eight bytes."""
        self._integer("Q", value)

    def i32(self, value: int) -> None:
        """Append four bytes, signed."""
        self._integer("i", value)

    def blob(self, value: bytes) -> None:
        """Append a length and that many bytes."""
        self.u16(len(value))
        self._parts.append(value)

    def text(self, value: str) -> None:
        """Append UTF-8 with its length; what was undecodable once becomes itself again."""
        try:
            self.blob(value.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError as error:
            raise WireError(f"a text holds what no UTF-8 has: {error.reason}") from None

    def list_u16(self, values: tuple[int, ...]) -> None:
        """Append a count and that many u16."""
        self.u16(len(values))
        for value in values:
            self.u16(value)

    def list_u64(self, values: tuple[int, ...]) -> None:
        """Append a count and that many u64."""
        self.u16(len(values))
        for value in values:
            self.u64(value)

    def list_str(self, values: tuple[str, ...]) -> None:
        """Append a count and that many strings."""
        self.u16(len(values))
        for value in values:
            self.text(value)

    def done(self) -> bytes:
        """Return all that was appended."""
        return b"".join(self._parts)


class Reader:
    """Takes fields off a payload; raises WireError where it ends too soon or too late."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._at = 0

    def _take(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._payload):
            raise WireError(f"payload ends {end - len(self._payload)} bytes too soon")
        piece = self._payload[self._at : end]
        self._at = end
        return piece

    def u8(self) -> int:
        """Take one byte."""
        return self._take(1)[0]

    def u16(self) -> int:
        """Take two bytes."""
        return int.from_bytes(self._take(2), "little")

    def u32(self) -> int:
        """Take four bytes."""
        return int.from_bytes(self._take(4), "little")

    def u64(self) -> int:
        """Take eight bytes."""
        return int.from_bytes(self._take(8), "little")

    def i32(self) -> int:
        """Take four bytes, signed."""
        return int.from_bytes(self._take(4), "little", signed=True)

    def blob(self) -> bytes:
        """Take a length and that many bytes."""
        return self._take(self.u16())

    def text(self) -> str:
        """Take a string; bytes that are not UTF-8 survive as surrogates (PEP 383)."""
        return self.blob().decode("utf-8", "surrogateescape")

    def list_u16(self) -> tuple[int, ...]:
        """Take a count and that many u16."""
        return tuple(self.u16() for _ in range(self.u16()))

    def list_u64(self) -> tuple[int, ...]:
        """Take a count and that many u64."""
        return tuple(self.u64() for _ in range(self.u16()))

    def list_str(self) -> tuple[str, ...]:
        """Take a count and that many strings."""
        return tuple(self.text() for _ in range(self.u16()))

    def done(self) -> None:
        """Raise WireError unless everything was taken."""
        if self._at != len(self._payload):
            raise WireError(f"payload is {len(self._payload) - self._at} bytes too long")
