"""A difference between two sides, and the list of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from whylate.bisect.kinds import Kind

#: How a difference is applied to a board. "kernel": by another kernel. "with parent": it is a part
#: of its parent, and is not there alone.
Method = Literal[
    "kernel",
    "kernel argument",
    "device tree",
    "module",
    "package",
    "file",
    "line",
    "setting",
    "affinity",
    "service",
    "priority",
    "with parent",
]
_DIGITS = 16


@dataclass(frozen=True)
class Means:
    """How a difference could be applied. target: the file, package, word or thread it acts on."""

    method: Method
    target: str


@dataclass(frozen=True)
class Difference:
    """In what two sides differ.

    id: the same for the same two sides, whatever else is listed. name: as people say it. first,
    second: the value on each side, None: it is absent there. parent: the id of what it is a part
    of: line, file, package. atom: the id of the first of those that can only be set together; None:
    it can be set alone. kept: the user keeps it as it is on each side.
    """

    kind: Kind
    id: str
    name: str
    first: str | None
    second: str | None
    means: Means
    parent: str | None = None
    atom: str | None = None
    kept: bool = False


@dataclass(frozen=True)
class NotCompared:
    """A kind that cannot be compared, and why not."""

    kind: Kind
    reason: str


@dataclass(frozen=True)
class Differences:
    """All differences, parents before their parts. first, second: what the sides are called."""

    first: str
    second: str
    listed: tuple[Difference, ...]
    not_compared: tuple[NotCompared, ...] = ()
    notes: tuple[str, ...] = ()
    #: How many differences patterns have excluded.
    excluded: int = 0

    @property
    def counts(self) -> dict[Kind, int]:
        """How many differences there are of each kind; kinds without any are left out."""
        counts = dict.fromkeys(Kind, 0)
        for difference in self.listed:
            counts[difference.kind] += 1
        return {kind: count for kind, count in counts.items() if count}


def difference_id(kind: Kind, name: str, first: str | None, second: str | None) -> str:
    """Return an id of what differs and its values: file-0123456789abcdef."""
    sha256 = hashlib.sha256()
    for text in (kind.value, name, first, second):
        data = b"" if text is None else text.encode("utf-8", "surrogateescape")
        # Absent is not empty, and no value runs into the next.
        sha256.update(f"{-1 if text is None else len(data)}:".encode() + data)
    return f"{kind.value.lower().replace(' ', '-')}-{sha256.hexdigest()[:_DIGITS]}"


def make_difference(
    kind: Kind,
    name: str,
    first: str | None,
    second: str | None,
    means: Means,
    parent: str | None = None,
) -> Difference:
    """Return a difference with its id."""
    identity = difference_id(kind, name, first, second)
    return Difference(kind, identity, name, first, second, means, parent)
