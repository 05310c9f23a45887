"""Hard links in a hybrid: the names of one file stay one file.

What differs in a file with several names is one item, so that a hybrid has all of them of one root.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from whylate.bisect.sides.model import Side
from whylate.bisect.sides.tree import Entry, Tree


def links_in(
    sides: Sequence[Side], entries: Mapping[str, Entry], mixed: Mapping[str, bytes]
) -> dict[str, str]:
    """Return the names of a hybrid that are hard links, and of which name: one before them.

    Names are one file where they are one in each root that has them as the hybrid has.
    mixed: contents that are put together.
    """
    trees = [side.tree for side in sides if side.tree is not None]
    links: dict[str, str] = {}
    for tree in trees:
        leaders: dict[str, str] = {}
        for name in sorted(tree.links):
            first = tree.links[name]
            if not _is_of(tree, name, entries, mixed):
                continue
            leader = leaders.setdefault(first, name)
            if leader != name and all(
                _are_one(other, leader, name)
                for other in trees
                if all(_is_of(other, end, entries, mixed) for end in (leader, name))
            ):
                links[name] = leader
    for name in sorted(links):
        # A name that is a link of both roots may lead to another link.
        links[name] = links.get(links[name], links[name])
    return links


def _is_of(tree: Tree, name: str, entries: Mapping[str, Entry], mixed: Mapping[str, bytes]) -> bool:
    """Whether a hybrid has a name as a root has it."""
    entry = entries.get(name)
    if entry is not None and name in mixed:
        entry = entry._replace(digest=hashlib.sha256(mixed[name]).digest())
    return entry is not None and tree.entries.get(name) == entry


def _are_one(tree: Tree, first: str, second: str) -> bool:
    """Whether two names are one file."""
    return first in tree.links and tree.links[first] == tree.links.get(second)
