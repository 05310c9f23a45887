"""Sets properties in a flattened device tree, as a board's overlay would.

Format: Devicetree Specification 0.4, chapter 5. Nodes are found by their path; a property is put
before the node's own, where it takes precedence.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from whylate.lab.errors import LabError

_MAGIC = 0xD00DFEED
_BEGIN_NODE, _END_NODE, _PROP, _NOP, _END = 1, 2, 3, 4, 9
_HEADER = struct.Struct(">10I")


def with_property(tree: bytes, path: str, name: str, value: str | Sequence[int]) -> bytes:
    """Return the tree with a property of the node at `path` set; raises LabError without that node.

    value: a text, or cells of 32 bits.
    """
    try:
        header = list(_HEADER.unpack_from(tree))
        if header[0] != _MAGIC:
            raise LabError("this is not a device tree")
        at = _behind_name(tree, header[2], path)
        offset, strings = _name_offset(tree, header, name.encode())
    except (struct.error, ValueError, IndexError):
        raise LabError("the device tree is damaged") from None
    if at is None:
        raise LabError(f"the device tree has no node {path}")
    data = (
        value.encode() + b"\0" if isinstance(value, str) else struct.pack(f">{len(value)}I", *value)
    )
    prop = struct.pack(">3I", _PROP, len(data), offset) + data + b"\0" * (-len(data) % 4)
    body = tree[:at] + prop + tree[at:]
    # The strings, to which one may be appended, have moved.
    header[9] += len(prop)
    if header[3] > at:
        header[3] += len(prop)
    end = header[3] + header[8]
    body = body[:end] + strings + body[end:]
    header[8] += len(strings)
    header[1] = len(body)
    return _HEADER.pack(*header) + body[_HEADER.size :]


def _behind_name(tree: bytes, offset: int, path: str) -> int | None:
    """Return where the properties of a node begin."""
    here: list[str] = []
    while True:
        (token,) = struct.unpack_from(">I", tree, offset)
        offset += 4
        if token == _BEGIN_NODE:
            end = tree.index(b"\0", offset)
            here.append(tree[offset:end].decode("ascii", "replace"))
            offset = _aligned(end + 1)
            if "/".join(here) == path.rstrip("/"):
                return offset
        elif token == _END_NODE:
            here.pop()
        elif token == _PROP:
            (length,) = struct.unpack_from(">I", tree, offset)
            offset = _aligned(offset + 8 + length)
        elif token == _END:
            return None
        elif token != _NOP:
            raise ValueError("not a token")


def _name_offset(tree: bytes, header: list[int], name: bytes) -> tuple[int, bytes]:
    """Return the offset of a property's name, and what must be appended to the strings."""
    strings = tree[header[3] : header[3] + header[8]]
    offset = (b"\0" + strings).find(b"\0" + name + b"\0")
    return (offset, b"") if offset >= 0 else (len(strings), name + b"\0")


def _aligned(offset: int) -> int:
    return -(-offset // 4) * 4
