"""Opens files that differ: lines of texts, words of a command line, properties of device trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from whylate.bisect.differences.lines import MAX_TEXT, compare_lines, is_text
from whylate.bisect.differences.model import Difference, Means, make_difference
from whylate.bisect.differences.values import compare_values
from whylate.bisect.kinds import Kind
from whylate.bisect.sides.device_tree import parse_device_tree
from whylate.bisect.sides.model import Items, Side
from whylate.bisect.sides.root import APPEND
from whylate.bisect.sides.tree import Entry, Tree

#: All contents that are opened together, on one side.
_MAX_ALL = 128 << 20
_DEVICE_TREES = (".dtb", ".dtbo")
_MAX_DEVICE_TREE = 4 << 20
#: Readable by all: what is not may be a secret, and stays whole.
_READABLE = 0o004


@dataclass(frozen=True)
class Opened:
    """A file that differs, and its name on each side."""

    difference: Difference
    first: str
    second: str


def open_contents(first: Side, second: Side, files: Sequence[Opened]) -> list[Difference]:
    """Return what differs within files; a file that cannot be opened has no parts.

    Raises SideError.
    """
    assert first.tree is not None and second.tree is not None  # noqa: S101, PT018 - of trees
    chosen = list(_choose(first.tree, second.tree, files))
    ours = first.tree.read([file.first for file in chosen], _MAX_DEVICE_TREE)
    theirs = second.tree.read([file.second for file in chosen], _MAX_DEVICE_TREE)
    parts: list[Difference] = []
    for file in chosen:
        contents = ours.get(file.first), theirs.get(file.second)
        if contents[0] is None or contents[1] is None:
            continue
        if file.first.endswith(_DEVICE_TREES):
            parts += _properties(file, contents[0], contents[1])
        elif is_text(contents[0]) and is_text(contents[1]):
            words = _words(first, second, file)
            parts += words
            lines = _lines(file, contents[0], contents[1])
            parts += (line for line in lines if not words or not _has_words(file, line))
    return parts


def _choose(first: Tree, second: Tree, files: Sequence[Opened]) -> Iterator[Opened]:
    """Yield the files to read: regular ones that everybody may read, within a bound."""
    total = 0
    for file in files:
        entries = first.entries[file.first], second.entries[file.second]
        most = _MAX_DEVICE_TREE if file.first.endswith(_DEVICE_TREES) else MAX_TEXT
        if all(_may_open(entry, most) for entry in entries) and (
            entries[0].digest != entries[1].digest
        ):
            total += max(entry.size for entry in entries)
            if total > _MAX_ALL:
                return
            yield file


def _may_open(entry: Entry, most: int) -> bool:
    return (
        entry.type == "file"
        and bool(entry.mode & _READABLE)
        and entry.digest is not None
        and entry.size <= most
    )


def _lines(file: Opened, first: bytes, second: bytes) -> Iterator[Difference]:
    path = file.difference.name
    for hunk in compare_lines(first, second) or ():
        number = hunk.second_line if hunk.first is None else hunk.first_line
        yield make_difference(
            Kind.LINE,
            f"{path}:{number}",
            hunk.first,
            hunk.second,
            Means("line", path),
            file.difference.id,
        )


def _words(first: Side, second: Side, file: Opened) -> list[Difference]:
    """Return the words that differ, if the file has the command line on both sides."""
    if first.words_from != file.first or second.words_from != file.second:
        return []
    items = first.items[Kind.ARGUMENT], second.items[Kind.ARGUMENT]
    return [
        make_difference(
            word.kind, word.name, word.first, word.second, word.means, file.difference.id
        )
        for word in compare_values(Kind.ARGUMENT, *items)
    ]


def _has_words(file: Opened, line: Difference) -> bool:
    """Whether a line that differs is the one with the command line, whose words are listed."""
    if file.first.endswith("cmdline.txt"):
        return True
    texts = (line.first, line.second)
    return all(text is not None and APPEND.fullmatch(text.rstrip("\n")) for text in texts)


def _properties(file: Opened, first: bytes, second: bytes) -> Iterator[Difference]:
    path = file.difference.name
    trees = [
        Items(properties, path)
        for content in (first, second)
        if (properties := parse_device_tree(content)) is not None
    ]
    if len(trees) != 2:
        return
    for item in compare_values(Kind.DEVICE_TREE, trees[0], trees[1]):
        yield make_difference(
            Kind.DEVICE_TREE,
            f"{path}:{item.name}",
            item.first,
            item.second,
            Means("device tree", item.name),
            file.difference.id,
        )
