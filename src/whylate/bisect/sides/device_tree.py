"""The properties in a flattened device tree (Devicetree Specification 0.4, chapter 5)."""

from __future__ import annotations

import struct

MAGIC = b"\xd0\x0d\xfe\xed"
_BEGIN_NODE, _END_NODE, _PROP, _NOP, _END = 1, 2, 3, 4, 9
#: More is no board's.
_MAX_PROPERTIES = 100_000
_MAX_DEPTH = 64


def parse_device_tree(tree: bytes) -> dict[str, str] | None:
    """Return each property's value by its path; a node's own path has the value "".

    None for what is no device tree, or a damaged one.
    """
    properties: dict[str, str] = {}
    try:
        magic, _, at, strings = struct.unpack_from(">4s3I", tree)
        here: list[str] = []
        while magic == MAGIC and len(properties) < _MAX_PROPERTIES:
            (token,) = struct.unpack_from(">I", tree, at)
            at += 4
            if token == _BEGIN_NODE:
                name = _text(tree, at)
                at = _aligned(at + len(name) + 1)
                here.append(name.decode("utf-8", "replace"))
                properties["/".join(here) or "/"] = ""
                if len(here) > _MAX_DEPTH:
                    return None
            elif token == _PROP:
                length, offset = struct.unpack_from(">2I", tree, at)
                data = tree[at + 8 : at + 8 + length]
                name = _text(tree, strings + offset)
                path = f"{'/'.join(here)}/{name.decode('utf-8', 'replace')}"
                properties.setdefault(path, format_value(data))
                if len(data) != length:
                    return None
                at = _aligned(at + 8 + length)
            elif token == _END_NODE:
                here.pop()
            elif token == _END:
                return properties
            elif token != _NOP:
                return None
    except (struct.error, ValueError, IndexError):
        return None
    return None


def format_value(data: bytes) -> str:
    """Write a value as in a source file: strings, cells of 32 bits, or bytes."""
    if not data:
        return "true"
    words = data[:-1].split(b"\0")
    if data.endswith(b"\0") and all(
        word and all(0x20 <= character < 0x7F for character in word) for word in words
    ):
        return ", ".join(f'"{word.decode("ascii")}"' for word in words)
    if len(data) % 4 == 0:
        cells = struct.unpack(f">{len(data) // 4}I", data)
        return f"<{' '.join(f'{cell:#x}' for cell in cells)}>"
    return f"[{data.hex(' ')}]"


def _text(tree: bytes, at: int) -> bytes:
    return tree[at : tree.index(b"\0", at)]


def _aligned(offset: int) -> int:
    return -(-offset // 4) * 4
