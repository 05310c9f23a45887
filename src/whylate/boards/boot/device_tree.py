"""Which board a flattened device tree describes.

Format: Devicetree Specification 0.4, chapter 5; the properties are those of its section 2.3.
"""

from __future__ import annotations

import struct

_MAGIC = 0xD00DFEED
_BEGIN_NODE, _PROP, _NOP = 1, 3, 4
_HEADER = struct.Struct(">10I")
#: A boot loader changes much of a tree, but not what its root is.
IDENTITY = ("model", "compatible")


def identity(tree: bytes) -> dict[str, bytes]:
    """Return the model and the compatible boards of a tree's root; {} if it is no device tree."""
    try:
        header = _HEADER.unpack_from(tree)
        if header[0] != _MAGIC:
            return {}
        return _root_properties(tree, header[2], header[3])
    except (struct.error, ValueError, IndexError):
        return {}


def _root_properties(tree: bytes, offset: int, names: int) -> dict[str, bytes]:
    properties: dict[str, bytes] = {}
    depth = 0
    while True:
        (token,) = struct.unpack_from(">I", tree, offset)
        offset += 4
        if token == _BEGIN_NODE and depth == 0:
            depth = 1
            offset = _aligned(tree.index(b"\0", offset) + 1)
        elif token == _PROP:
            size, name_at = struct.unpack_from(">2I", tree, offset)
            start = names + name_at
            name = tree[start : tree.index(b"\0", start)].decode("ascii", "replace")
            if name in IDENTITY:
                properties[name] = tree[offset + 8 : offset + 8 + size]
            offset = _aligned(offset + 8 + size)
        elif token != _NOP:
            # Properties come before the nodes in it.
            return properties


def _aligned(offset: int) -> int:
    return (offset + 3) & ~3
