"""Differences that can only be set together."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from whylate.bisect.differences.kernels import Names, names_of
from whylate.bisect.differences.model import Difference
from whylate.bisect.differences.trees import TreeDifferences
from whylate.bisect.sides.model import Side

#: What one build of glibc makes, and of which no part runs with those of another: they share
#: symbols of version GLIBC_PRIVATE.
_GLIBC = re.compile(
    r"(?:.*/)?(?:ld(?:-linux[^/]*)?(?:-[0-9.]+)?\.so(?:\.[0-9]+)?|ld64\.so\.[0-9]"
    r"|lib(?:c|m|mvec|pthread|rt|dl|util|anl|resolv|nsl|thread_db|c_malloc_debug|BrokenLocale"
    r"|memusage|pcprofile|nss_(?:files|dns|compat|hesiod))(?:-[0-9.]+\.so|\.so(?:\.[0-9]+)?))"
)


class Groups:
    """Sets of ids, merged as pairs of them are joined (a union-find)."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def join(self, first: str, second: str) -> None:
        """Put two ids into one set."""
        self._above[self.leader(first)] = self.leader(second)

    def leader(self, identity: str) -> str:
        """Return the id that stands for a set."""
        while (above := self._above.get(identity, identity)) != identity:
            self._above[identity] = self._above.get(above, above)
            identity = above
        return identity


def join_tree_atoms(first: Side, second: Side, trees: TreeDifferences, groups: Groups) -> None:
    """Join what belongs to one kernel or one glibc, exact dependencies, and links to new files."""
    for identity, kernel in trees.of_kernel.items():
        groups.join(identity, kernel)
    glibc = [difference.id for path, difference in trees.paths.items() if _GLIBC.fullmatch(path)]
    for ours, theirs in pairwise(glibc):
        groups.join(ours, theirs)
    names = names_of(first, second)
    for side, name in zip((first, second), names, strict=True):
        for package, needed in side.exact:
            both = [trees.packages.get(name.common(word)) for word in (package, needed)]
            if both[0] is not None and both[1] is not None:
                groups.join(both[0].id, both[1].id)
        _join_links(side, name, trees, groups)


def _join_links(side: Side, name: Names, trees: TreeDifferences, groups: Groups) -> None:
    """Join a link that differs with its target, if that is on one side alone."""
    assert side.tree is not None  # noqa: S101 - it has one
    for path, difference in trees.paths.items():
        entry = side.tree.entries.get(name.real(path))
        if entry is None or entry.type != "link":
            continue
        target = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), entry.target))
        linked = trees.paths.get(name.common(target.lstrip("/")))
        if linked is not None and (linked.first is None or linked.second is None):
            groups.join(difference.id, linked.id)


def name_atoms(listed: Sequence[Difference], groups: Groups) -> list[Difference]:
    """Return differences with the id of the first of their set; None where that is all of it."""
    sets: dict[str, list[str]] = {}
    for difference in listed:
        sets.setdefault(groups.leader(difference.id), []).append(difference.id)
    return [
        replace(difference, atom=ids[0] if len(ids) > 1 else None)
        for difference in listed
        for ids in [sets[groups.leader(difference.id)]]
    ]


def join_matches(matching: Iterable[Difference], groups: Groups) -> None:
    """Join differences that the user pins together."""
    for ours, theirs in pairwise(matching):
        groups.join(ours.id, theirs.id)
