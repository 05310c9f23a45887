"""Device trees, put together here by the specification and taken apart again."""

from __future__ import annotations

import struct

import pytest

from whylate.lab.device_tree import with_property
from whylate.lab.errors import LabError

Node = tuple[str, dict[str, bytes], list["Node"]]

TREE: Node = (
    "",
    {"model": b"a board\0"},
    [
        ("soc", {}, [
            ("serial@10", {"reg": b"\0\0\0\x10"}, [("bluetooth", {"compatible": b"bt\0"}, [])]),
            ("serial@20", {"reg": b"\0\0\0\x20", "compatible": b"uart\0"}, []),
        ]),
    ],
)  # fmt: skip


def padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def flatten(root: Node, *names: str) -> bytes:
    """Return the tree with its strings behind its structure; `names` are in them already."""
    strings = bytearray(b"".join(name.encode() + b"\0" for name in names))
    offsets: dict[str, int] = {}

    def offset(name: str) -> int:
        if name not in offsets:
            offsets[name] = len(strings)
            strings.extend(name.encode() + b"\0")
        return offsets[name]

    def node(tree: Node) -> bytes:
        name, properties, children = tree
        out = struct.pack(">I", 1) + padded(name.encode() + b"\0")
        for key, value in properties.items():
            out += struct.pack(">3I", 3, len(value), offset(key)) + padded(value)
        return out + b"".join(node(child) for child in children) + struct.pack(">I", 2)

    body = node(root) + struct.pack(">I", 9)
    reserved = b"\0" * 16
    start = 40 + len(reserved)
    size = start + len(body) + len(strings)
    header = struct.pack(">10I", 0xD00DFEED, size, start, start + len(body), 40, 17, 16, 0,
                         len(strings), len(body))  # fmt: skip
    return header + reserved + body + bytes(strings)


def unflatten(tree: bytes) -> Node:
    """Read it back, strictly: every offset and size must be right."""
    head = struct.unpack_from(">10I", tree)
    assert head[1] == len(tree)
    strings = tree[head[3] : head[3] + head[8]]
    at = head[2]

    def text(data: bytes, begin: int) -> str:
        return data[begin : data.index(b"\0", begin)].decode()

    def node() -> Node:
        nonlocal at
        name = text(tree, at + 4)
        at += 4 + len(padded(name.encode() + b"\0"))
        node_read: Node = (name, {}, [])
        while True:
            (token,) = struct.unpack_from(">I", tree, at)
            if token == 3:
                length, offset = struct.unpack_from(">2I", tree, at + 4)
                node_read[1].setdefault(text(strings, offset), tree[at + 12 : at + 12 + length])
                at += 12 + len(padded(b"x" * length))
            elif token == 1:
                node_read[2].append(node())
            else:
                assert token == 2
                at += 4
                return node_read

    root = node()
    assert struct.unpack_from(">I", tree, at) == (9,)
    assert at + 4 - head[2] == head[9]
    return root


def disable(tree: bytes, path: str) -> bytes:
    return with_property(tree, path, "status", "disabled")


@pytest.mark.parametrize("names", [(), ("status",), ("xstatus", "status")])
def test_a_node_is_disabled_and_all_else_stays(names: tuple[str, ...]) -> None:
    changed = unflatten(disable(flatten(TREE, *names), "/soc/serial@10/bluetooth"))
    bluetooth = changed[2][0][2][0][2][0]
    assert bluetooth[1].pop("status") == b"disabled\0"
    assert changed == TREE


def test_what_says_that_it_is_there_is_overruled() -> None:
    tree = flatten(("", {}, [("a", {"status": b"okay\0"}, [])]))
    assert unflatten(disable(tree, "/a"))[2][0][1]["status"] == b"disabled\0"


def test_several_nodes_are_disabled_one_after_the_other() -> None:
    once = disable(flatten(TREE), "/soc/serial@10")
    changed = unflatten(disable(once, "/soc/serial@20"))
    assert [child[1]["status"] for child in changed[2][0][2]] == [b"disabled\0"] * 2


def test_cells_are_set_and_overrule_what_is_there() -> None:
    tree = flatten(("", {}, [("clock", {"rate": b"\0\0\0\x07", "name": b"c\0"}, [])]))
    changed = unflatten(with_property(tree, "/clock", "rate", [100_000_000, 1]))
    assert changed[2][0][1] == {"rate": bytes.fromhex("05f5e10000000001"), "name": b"c\0"}


def test_a_node_that_is_not_there_is_said() -> None:
    with pytest.raises(LabError, match="no node /soc/serial@30"):
        disable(flatten(TREE), "/soc/serial@30")


@pytest.mark.parametrize("cut", [0, 10, 60, 90])
def test_what_is_no_tree_is_said(cut: int) -> None:
    with pytest.raises(LabError):
        disable(flatten(TREE)[:cut], "/soc")
    with pytest.raises(LabError):
        disable(b"\0" * 400, "/soc")
