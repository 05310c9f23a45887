"""What a side offers to be compared: named values by kind, and perhaps a tree of files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from whylate.bisect.kinds import Kind
from whylate.bisect.sides.tree import Tree


@dataclass(frozen=True)
class Items:
    """Named values of one kind.

    basis: what the values are; values of different bases are never compared. known: None: an absent
    name is absent on the side. Otherwise it tells whether a name would have been listed, were it
    there: what a recording leaves out is not known to be absent. files: by name, the files of the
    kernel that set values which are named by something else.
    """

    values: Mapping[str, str]
    basis: str
    known: Callable[[str], bool] | None = None
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Side:
    """One side. name: as the user wrote it.

    lacks: the reason for each kind that the side does not offer. machine: facts of its hardware,
    which cannot be exchanged. notes: sentences on what was left out. owners: the package of each
    file. exact: pairs of packages of which one depends on exactly the other's version. releases: of
    the kernels in a tree. words_from: the file in a tree that has the command line.
    """

    name: str
    what: Literal["board", "recording", "directory", "tarball", "image"]
    items: Mapping[Kind, Items]
    lacks: Mapping[Kind, str]
    tree: Tree | None = None
    owners: Mapping[str, str] = field(default_factory=dict)
    exact: frozenset[tuple[str, str]] = frozenset()
    releases: tuple[str, ...] = ()
    words_from: str | None = None
    machine: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
