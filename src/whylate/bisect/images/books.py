"""The database of dpkg or opkg in a hybrid: an entry and its files go with their package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from whylate.bisect.differences.kernels import Names
from whylate.bisect.images.texts import Piece, Text, merge_orders
from whylate.bisect.sides.control import read_paragraphs
from whylate.bisect.sides.packages import BOOKS

_END_OF_PARAGRAPH = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)*")


@dataclass(frozen=True)
class Exchange:
    """What exchanges the entries of packages.

    packages: ids of the differences of packages, by common name; None: it stays with the base.
    rest: the id of what belongs to no package that differs.
    """

    packages: Mapping[str, str | None]
    rest: str

    def id_of(self, called: str) -> str | None:
        """Return what exchanges a package's entry; called: its common name."""
        if called in self.packages:
            return self.packages[called]
        return self.packages.get(called.partition(":")[0], self.rest)


def is_status(path: str) -> bool:
    """Whether a file has the entries of all packages."""
    return path in {f"{place}/status" for place in BOOKS}


def package_of_info(path: str) -> str | None:
    """Return the package that a file of a database is of: info/NAME.list; None: of none."""
    for place in BOOKS:
        name = path.removeprefix(f"{place}/info/")
        if name != path and "/" not in name:
            return name.rpartition(".")[0]
    return None


def text_of_status(
    first: bytes, second: bytes, names: tuple[Names, Names], exchange: Exchange
) -> Text:
    """Return the entries of packages as a text of paragraphs."""
    sides = [
        _paragraphs(content, name) for content, name in zip((first, second), names, strict=True)
    ]
    pieces = {
        key: Piece(ours, theirs, exchange.id_of(key), same=ours == theirs)
        for key in {**sides[0], **sides[1]}
        for ours, theirs in [(sides[0].get(key, b""), sides[1].get(key, b""))]
    }
    orders = [
        tuple(pieces[key] for key in merge_orders(list(here), list(there)))
        for here, there in (sides, sides[::-1])
    ]
    common = [key for key in sides[0] if key in sides[1]]
    if common == [key for key in sides[1] if key in sides[0]]:
        orders[1] = orders[0]
    return Text(orders[0], orders[1], (first, second), b"\n\n", exchange.rest)


def _paragraphs(content: bytes, names: Names) -> dict[str, bytes]:
    """Return paragraphs with what ends them, by the common names of their packages."""
    text = content.decode("utf-8", "surrogateescape")
    raw: list[str] = []
    at = 0
    for match in _END_OF_PARAGRAPH.finditer(text):
        raw.append(text[at : match.end()])
        at = match.end()
    raw.append(text[at:])
    rows = [(part, next(read_paragraphs(part), {})) for part in raw if part]
    counts: dict[str, int] = {}
    for _, fields in rows:
        counts[fields.get("package", "")] = counts.get(fields.get("package", ""), 0) + 1
    paragraphs: dict[str, bytes] = {}
    for part, fields in rows:
        name = fields.get("package", "")
        called = f"{name}:{fields.get('architecture', '')}" if counts[name] > 1 else name
        key = names.common(called)
        # Of two alike the later belongs to the former.
        paragraphs[key] = paragraphs.get(key, b"") + part.encode("utf-8", "surrogateescape")
    return paragraphs
