"""For each name of two roots, what decides which side a hybrid has it of."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from whylate.bisect.differences.entries import CONTENT, compare_entries
from whylate.bisect.differences.kernels import Names, names_of
from whylate.bisect.differences.model import Difference, Differences, Means, make_difference
from whylate.bisect.images.books import Exchange, is_status, package_of_info, text_of_status
from whylate.bisect.images.command_line import text_of_words
from whylate.bisect.images.lines import text_of_lines
from whylate.bisect.images.pool import Pool
from whylate.bisect.images.texts import Text
from whylate.bisect.kinds import Kind
from whylate.bisect.sides.model import Side
from whylate.bisect.sides.packages import BOOKS
from whylate.bisect.sides.tree import Entry, Tree

#: What no other difference stands for: the order of dpkg's entries, comments in a configuration.
_REST = "files of the package manager, and names of modules"


@dataclass(frozen=True)
class Rule:
    """A name in two roots.

    names, entries: of each side; None: it has nothing of that name. whole: the id of what exchanges
    it, None: it stays with the base. aspects: ids of what exchanges its content, its mode … text:
    its content, where that is of pieces. same: it is alike on both sides. follows: a directory that
    is there as soon as something is in it.
    """

    names: tuple[str | None, str | None]
    entries: tuple[Entry | None, Entry | None]
    whole: str | None = None
    aspects: Mapping[str, str] = field(default_factory=dict)
    text: Text | None = None
    same: bool = False
    follows: bool = False


@dataclass(frozen=True)
class Rules:
    """rules: of all names. rest: a difference of what no other stands for, None: there is none.

    directories: ids of those that follow what is in them. conflicts: pairs of ids that cannot be
    apart. linked: pairs of names of one file.
    """

    rules: tuple[Rule, ...]
    rest: Difference | None
    directories: frozenset[str]
    conflicts: tuple[tuple[str, str], ...]
    linked: tuple[tuple[str, str], ...]


def make_rules(first: Side, second: Side, differences: Differences, pool: Pool) -> Rules:
    """Return the rules of two roots by their differences; the contents of both are in the pool."""
    return _Maker(first, second, differences, pool).make()


class _Maker:
    """Rules in the making."""

    def __init__(self, first: Side, second: Side, differences: Differences, pool: Pool) -> None:
        assert first.tree is not None and second.tree is not None  # noqa: S101, PT018 - of roots
        self._sides = (first, second)
        self._trees: tuple[Tree, Tree] = (first.tree, second.tree)
        self._names: tuple[Names, Names] = names_of(first, second)
        self._pool = pool
        listed = differences.listed
        self._below: dict[str, list[Difference]] = {}
        for difference in listed:
            if difference.parent is not None:
                self._below.setdefault(difference.parent, []).append(difference)
        self._by_path: dict[str, Difference] = {}
        for difference in listed:
            if difference.kind in (Kind.FILE, Kind.MODULE, Kind.KERNEL):
                # The parts of a file come after it, and have its target.
                self._by_path.setdefault(difference.means.target, difference)
        kernels = [difference.id for difference in listed if difference.kind is Kind.KERNEL]
        self._kernel = kernels[0] if kernels else None
        self._options = next((d.id for d in listed if d.kind is Kind.OPTION), self._kernel)
        self._rest = make_difference(
            Kind.FILE, _REST, "as it is", "as it is", Means("file", _REST)
        )  # fmt: skip
        self._together: list[tuple[str, str]] = []
        self._exchange = Exchange(self._packages(listed), self._rest.id)

    def make(self) -> Rules:
        """Return the rules."""
        rules = dict(self._all())
        used = {rule.whole for rule in rules.values() if not rule.same} | {
            identity
            for rule in rules.values()
            if rule.text is not None
            for identity in rule.text.ids
        }
        directories = {
            self._by_path[common].id
            for common, rule in rules.items()
            if rule.follows and common in self._by_path
        }
        return Rules(
            tuple(rules.values()),
            self._rest if self._rest.id in used else None,
            frozenset(directories),
            (*self._together, *self._conflicts(rules)),
            tuple(self._linked()),
        )

    def _linked(self) -> Iterator[tuple[str, str]]:
        """Yield the differences of names that are hard links of each other on a side."""
        for tree, names in zip(self._trees, self._names, strict=True):
            leaders: dict[str, str] = {}
            for name, first in tree.links.items():
                difference = self._by_path.get(names.common(name))
                if difference is None:
                    continue
                leader = leaders.setdefault(first, difference.id)
                if leader != difference.id:
                    yield leader, difference.id

    def _packages(self, listed: tuple[Difference, ...]) -> dict[str, str | None]:
        """Return what exchanges the entries of packages of two versions."""
        packages: dict[str, str | None] = {}
        versions = []
        for side, names in zip(self._sides, self._names, strict=True):
            items = side.items.get(Kind.PACKAGE)
            of_side = {} if items is None else items.values
            versions.append({names.common(name): value for name, value in of_side.items()})
        for name in versions[0].keys() | versions[1].keys():
            if versions[0].get(name) != versions[1].get(name):
                # Unless it is listed it was excluded.
                packages[name] = None
        packages |= {d.name: d.id for d in listed if d.kind is Kind.PACKAGE}
        return packages

    def _all(self) -> Iterator[tuple[str, Rule]]:
        ours, theirs = (
            names.entries(tree.entries)
            for names, tree in zip(self._names, self._trees, strict=True)
        )
        for common in sorted(ours.keys() | theirs.keys()):
            yield common, self._rule(common, ours.get(common), theirs.get(common))
        for side, known in enumerate((ours, theirs)):
            # Two names of one side that have one common name, such as x.ko and x.ko.xz.
            for path in self._trees[side].entries.keys() - set(known.values()):
                entry = self._trees[side].entries[path]
                difference = self._by_path.get(self._names[side].common(path))
                whole = self._kernel if difference is None else difference.id
                pair = (path, None) if side == 0 else (None, path)
                entries = (entry, None) if side == 0 else (None, entry)
                yield f"{side}:{path}", Rule(pair, entries, whole)

    def _rule(self, common: str, ours: str | None, theirs: str | None) -> Rule:
        names = (ours, theirs)
        entries = (
            None if ours is None else self._trees[0].entries[ours],
            None if theirs is None else self._trees[1].entries[theirs],
        )
        first, second = entries
        differing: dict[str, tuple[str, str]] = {}
        if first is not None and second is not None:
            differing = compare_entries(first, second, self._names)
            if not differing:
                # Without two kernels only the packing of a module makes names differ.
                whole = self._kernel if self._names[0].release is not None else self._rest.id
                return Rule(names, entries, whole, same=ours == theirs)
        difference = self._by_path.get(common)
        if difference is None:
            return self._unlisted(common, names, entries)
        below = self._below.get(difference.id, [])
        if not differing:
            either = first or second
            follows = either is not None and either.type == "directory" and bool(below)
            return Rule(names, entries, difference.id, follows=follows)
        aspects = {
            aspect: part.id
            for aspect in differing
            for part in below
            if part.name == f"{common}: {aspect}" and part.kind is Kind.FILE
        }
        whole = difference.id if ours == theirs else self._kernel
        parts = [part.id for part in below if part.kind in (Kind.LINE, Kind.ARGUMENT)]
        if not parts or CONTENT not in differing:
            return Rule(names, entries, whole if aspects else difference.id, aspects)
        text = self._text(difference, entries, below)
        if text is None:
            # It cannot be mixed after all: its parts are exchanged together.
            self._together += [(parts[0], part) for part in parts[1:]]
            aspects = aspects | {CONTENT: parts[0]}
        return Rule(names, entries, whole, aspects, text)

    def _unlisted(
        self,
        common: str,
        names: tuple[str | None, str | None],
        entries: tuple[Entry | None, Entry | None],
    ) -> Rule:
        """Return the rule of what other differences stand for, or what was excluded."""
        if common.startswith("boot/config-"):
            return Rule(names, entries, self._options or self._rest.id)
        if not common.startswith(tuple(f"{place}/" for place in BOOKS)):
            return Rule(names, entries)
        package = package_of_info(common)
        if package is not None:
            return Rule(names, entries, self._exchange.id_of(package))
        first, second = entries
        if (
            is_status(common)
            and first is not None
            and second is not None
            and first.type == second.type == "file"
        ):
            contents = self._pool.read(first), self._pool.read(second)
            text = text_of_status(*contents, self._names, self._exchange)
            alike = first._replace(digest=None, size=0) == second._replace(digest=None, size=0)
            return Rule(names, entries, None if alike else self._rest.id, text=text)
        return Rule(names, entries, self._rest.id)

    def _text(
        self,
        difference: Difference,
        entries: tuple[Entry | None, Entry | None],
        below: list[Difference],
    ) -> Text | None:
        """Return a file in pieces; None: it is exchanged as a whole."""
        lines = [part.id for part in below if part.kind is Kind.LINE]
        words = [part for part in below if part.kind is Kind.ARGUMENT]
        first, second = entries
        if not (lines or words) or first is None or second is None:
            return None
        contents = self._pool.read(first), self._pool.read(second)
        if words and difference.name.endswith("cmdline.txt"):
            return text_of_words(*contents, words)
        # The line of an extlinux.conf with the command line is exchanged as a whole.
        other = words[0].id if words else None
        return text_of_lines(difference.name, *contents, lines, other)

    def _conflicts(self, rules: Mapping[str, Rule]) -> Iterator[tuple[str, str]]:
        """Yield what is a file or a link on one side with what lies below it on the other."""
        for common, difference in self._by_path.items():
            above = posixpath.dirname(common)
            while above:
                entries = rules[above].entries if above in rules else (None, None)
                kinds = {entry.type == "directory" for entry in entries if entry is not None}
                if len(kinds) > 1 and above in self._by_path:
                    yield self._by_path[above].id, difference.id
                above = posixpath.dirname(above)
