"""What hybrids exchange: items, each one difference or several that can only be set together.

An item holds differences that have no listed parts, or that have something of their own beside
them: a package's entry in dpkg's database, a line, a mode. A file whose lines are listed, and a
directory whose files are, change with these.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from whylate.bisect.differences.atoms import Groups
from whylate.bisect.differences.choose import pinned
from whylate.bisect.differences.entries import CONTENT
from whylate.bisect.differences.model import Difference
from whylate.bisect.kinds import Kind
from whylate.stats.arrays import Floats, Int64s

#: More items are no two roots that anybody compares.
MOST = 20_000
#: Levels of groups: a package, its directories. What lies deeper is in the last.
_LEVELS = 5
_OF_FILES = frozenset({Kind.FILE, Kind.MODULE})
_PARTS = frozenset({Kind.LINE, Kind.ARGUMENT})


@dataclass(frozen=True)
class Item:
    """What hybrids have of one root or of the other as a whole.

    members: the differences, in the order of the list. groups: what it is a part of, the coarsest
    first: ids of differences.
    """

    members: tuple[Difference, ...]
    groups: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What to call it."""
        more = len(self.members) - 1
        return self.members[0].name + (f" and {more} more" if more else "")

    @property
    def first(self) -> str | None:
        """The first root's value; None: it is absent there."""
        return self.members[0].first

    @property
    def second(self) -> str | None:
        """The second root's value; None: it is absent there."""
        return self.members[0].second


def make_items(
    listed: Sequence[Difference],
    pins: Sequence[str],
    directories: Collection[str],
    conflicts: Collection[tuple[str, str]],
) -> list[Item]:
    """Return the items of differences, in their order.

    listed: parents first. pins: patterns of what is exchanged as one, with its parts. directories:
    ids of those that are there as soon as something is in them. conflicts: pairs that cannot be
    apart, such as a file and what lies in the directory of that name on the other side.
    """
    tree = _Tree(listed)
    members = [difference for difference in listed if tree.is_member(difference, directories)]
    ids = {member.id for member in members}
    groups = Groups()
    for together in (*tree.atoms(ids), *_pinned(tree, pins, ids), *_whole(members, tree)):
        for other in together[1:]:
            groups.join(together[0], other)
    for ours, theirs in conflicts:
        together = [identity for end in (ours, theirs) for identity in tree.own(end, ids)]
        for other in together[1:]:
            groups.join(together[0], other)
    sets: dict[str, list[Difference]] = {}
    for member in members:
        sets.setdefault(groups.leader(member.id), []).append(member)
    return list(_with_groups(list(sets.values()), tree))


def labels_of(items: Sequence[Item]) -> Int64s:
    """Return the labels of the hierarchy, as the search takes them, shape (items, levels)."""
    levels = max((len(item.groups) for item in items), default=0)
    labels = np.zeros((len(items), levels), np.int64)
    for level in range(levels):
        numbers: dict[str, int] = {}
        for row, item in enumerate(items):
            # What has no group of this level is one of its own.
            name = item.groups[level] if level < len(item.groups) else item.members[0].id
            labels[row, level] = numbers.setdefault(name, len(numbers))
    return labels


def weights_of(items: Sequence[Item]) -> Floats:
    """Return the prior odds of items, shape (items,).

    A package of 300 files is more probable than a line of rc.local, but not 300 times: a group's
    odds are 1 + log2 of its size, which its items share.
    """
    sizes: dict[str, int] = {}
    for item in items:
        sizes[_top(item)] = sizes.get(_top(item), 0) + 1
    size = [sizes[_top(item)] for item in items]
    return np.array([(1 + math.log2(count)) / count for count in size])


def _top(item: Item) -> str:
    return item.groups[0] if item.groups else item.members[0].id


class _Tree:
    """Differences, and what is a part of which."""

    def __init__(self, listed: Sequence[Difference]) -> None:
        self.listed = listed
        self.by_id = {difference.id: difference for difference in listed}
        self.below: dict[str, list[Difference]] = {}
        for difference in listed:
            if difference.parent is not None:
                self.below.setdefault(difference.parent, []).append(difference)

    def is_member(self, difference: Difference, directories: Collection[str]) -> bool:
        """Whether a difference has something of its own that a hybrid can have."""
        if difference.kept:
            return False
        if difference.kind in _OF_FILES:
            parts = self.parts(difference)
            if self._is_aspect(difference):
                others = self.parts(self.by_id[difference.parent or ""])
                has_parts = any(other.kind in _PARTS for other in others)
                return not (difference.name.endswith(f": {CONTENT}") and has_parts)
            return not parts and not (difference.id in directories and difference.id in self.below)
        if difference.kind is Kind.ARGUMENT:
            # Words that are in no file of both are in files, which are listed.
            return difference.parent in self.by_id
        return difference.kind in (Kind.KERNEL, Kind.OPTION, Kind.PACKAGE, Kind.LINE)

    def parts(self, difference: Difference) -> list[Difference]:
        """Return the lines, words and aspects of a file."""
        return [
            below
            for below in self.below.get(difference.id, [])
            if below.kind in _PARTS or self._is_aspect(below)
        ]

    def _is_aspect(self, difference: Difference) -> bool:
        above = self.by_id.get(difference.parent or "")
        return (
            above is not None
            and difference.kind is Kind.FILE
            and above.kind in _OF_FILES
            and above.means.target == difference.means.target
        )

    def own(self, identity: str, ids: Collection[str]) -> list[str]:
        """Return the members that a difference consists of: itself, or the parts of a file."""
        if identity in ids or identity not in self.by_id:
            return [identity] if identity in ids else []
        return [part.id for part in self.parts(self.by_id[identity]) if part.id in ids]

    def all_below(self, difference: Difference) -> Iterator[Difference]:
        """Yield a difference and all that is below it."""
        waiting = [difference]
        while waiting:
            here = waiting.pop()
            yield here
            waiting += self.below.get(here.id, [])

    def chain(self, difference: Difference) -> list[str]:
        """Return what a difference is a part of, the coarsest first, and itself."""
        chain = [difference.id]
        above = difference.parent
        while above in self.by_id and len(chain) < len(self.listed):
            chain.append(above)
            above = self.by_id[above].parent
        return chain[::-1]

    def atoms(self, ids: Collection[str]) -> Iterator[list[str]]:
        """Yield the members of each set of differences that can only be set together."""
        sets: dict[str, list[str]] = {}
        for difference in self.listed:
            if difference.atom is not None and not difference.kept:
                sets.setdefault(difference.atom, []).extend(self.own(difference.id, ids))
        yield from sets.values()


def _pinned(tree: _Tree, pins: Sequence[str], ids: Collection[str]) -> Iterator[list[str]]:
    for pattern in pins:
        matching = pinned(tree.listed, pattern)
        below = [part.id for match in matching for part in tree.all_below(match)]
        yield [identity for identity in below if identity in ids]


def _whole(members: Sequence[Difference], tree: _Tree) -> Iterator[list[str]]:
    """Yield what is in one file that is exchanged as a whole: options, words of extlinux.conf."""
    yield [member.id for member in members if member.kind is Kind.OPTION]
    words: dict[str, list[str]] = {}
    for member in members:
        if member.kind is not Kind.ARGUMENT or member.parent is None:
            continue
        if not tree.by_id[member.parent].name.endswith("cmdline.txt"):
            words.setdefault(member.parent, []).append(member.id)
    yield from words.values()


def _with_groups(sets: Sequence[list[Difference]], tree: _Tree) -> Iterator[Item]:
    """Yield items with their groups; groups at the top that share an item are one."""
    tops = Groups()
    chains = {member.id: tree.chain(member) for members in sets for member in members}
    for members in sets:
        for member in members[1:]:
            tops.join(chains[members[0].id][0], chains[member.id][0])
    for members in sets:
        chain = chains[members[0].id]
        groups = (tops.leader(chain[0]), *chain[1:-1])
        yield Item(tuple(members), groups[:_LEVELS])
