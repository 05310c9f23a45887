"""Numbers as the wire packs them, written down apart from the code that reads them."""

from __future__ import annotations


def leb128(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1
