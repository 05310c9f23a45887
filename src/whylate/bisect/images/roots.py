"""Two roots, what hybrids of them exchange, and the hybrids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whylate.bisect.differences.model import Difference, Differences
from whylate.bisect.images.errors import HybridError
from whylate.bisect.images.hard_links import links_in
from whylate.bisect.images.items import MOST, Item, make_items
from whylate.bisect.images.pool import Pool
from whylate.bisect.images.rules import Rule, make_rules
from whylate.bisect.images.tar import write_tar
from whylate.bisect.images.texts import IsSecond
from whylate.bisect.sides.model import Side
from whylate.bisect.sides.tree import Entry
from whylate.stats.arrays import Bools
from whylate.text import plain


@dataclass(frozen=True)
class Hybrid:
    """The files of a hybrid: their entries, and the contents that are put together.

    links: names that are hard links, and of which name.
    """

    entries: Mapping[str, Entry]
    mixed: Mapping[str, bytes]
    links: Mapping[str, str] = field(default_factory=dict)


class Roots:
    """Two roots whose contents are in a pool.

    items: what hybrids exchange. has_rest: whether something stays with the base: what the user
    keeps or excludes. Raises HybridError for roots of which no hybrid can be made, and SideError.
    """

    def __init__(
        self, first: Side, second: Side, differences: Differences, pins: Sequence[str], pool: Pool
    ) -> None:
        for side in (first, second):
            if side.tree is None:
                raise HybridError(
                    f"{side.name} is a {side.what}: a hybrid is made of root file systems, which "
                    "are directories, tarballs and ext4 images"
                )
            pool.add(side)
        self.first, self.second = first, second
        self._pool = pool
        made = make_rules(first, second, differences, pool)
        self._rules = made.rules
        listed: Iterable[Difference] = differences.listed
        if made.rest is not None:
            listed = (*listed, made.rest)
        self.items: list[Item] = make_items(
            list(listed), pins, made.directories, (*made.conflicts, *made.linked)
        )  # fmt: skip
        if not self.items:
            raise HybridError(f"{first.name} and {second.name} have no difference to exchange")
        if len(self.items) > MOST:
            raise HybridError(
                f"{first.name} and {second.name} have {len(self.items):,} differences, and at most "
                f"{MOST:,} are searched: exclude some, such as --exclude 'usr/share/doc/*'"
            )
        self._item_of = {
            member.id: place for place, item in enumerate(self.items) for member in item.members
        }
        self.has_rest = any(self._stays(rule) for rule in self._rules)

    def hybrid(self, chosen: Bools, second_base: bool) -> Hybrid:
        """Return a hybrid: of these items the second root's value, of the others the first's.

        chosen: shape (items,). second_base: the root that all else is of. Raises HybridError for a
        file that would lie in another file.
        """

        def is_second(identity: str | None) -> bool:
            place = None if identity is None else self._item_of.get(identity)
            return second_base if place is None else bool(chosen[place])

        entries: dict[str, Entry] = {}
        mixed: dict[str, bytes] = {}
        for rule in self._rules:
            if rule.follows:
                continue
            name, entry = _chosen(rule, is_second)
            if name is None or entry is None:
                continue
            if rule.text is not None:
                content = rule.text.mixed(is_second)
                mixed[name] = content
                entry = entry._replace(size=len(content))
            if name in entries:
                raise HybridError(f"two files of the hybrid have the name {plain(name, 200)}")
            entries[name] = entry
        self._add_directories(entries)
        return Hybrid(entries, mixed, links_in((self.first, self.second), entries, mixed))

    def write(self, path: Path, hybrid: Hybrid) -> str:
        """Write a hybrid as a tar and return its SHA-256; raises HybridError and DiskError."""

        def chunks(name: str, entry: Entry) -> Iterable[bytes]:
            return [hybrid.mixed[name]] if name in hybrid.mixed else self._pool.chunks(entry)

        return write_tar(path, hybrid.entries, hybrid.links, chunks)

    def content(self, hybrid: Hybrid, name: str) -> bytes:
        """Return the content of a file of a hybrid."""
        if name in hybrid.mixed:
            return hybrid.mixed[name]
        return self._pool.read(hybrid.entries[name])

    def _add_directories(self, entries: dict[str, Entry]) -> None:
        """Add the directories in which files lie, as the root has them that has them."""
        for name in list(entries):
            above = name.rpartition("/")[0]
            while above:
                entry = entries.get(above)
                if entry is None:
                    entry = entries[above] = self._directory(above)
                if entry.type != "directory":
                    raise HybridError(
                        f"{plain(name, 200)} of one root would lie in a {entry.type} of the other"
                    )
                above = above.rpartition("/")[0]

    def _directory(self, path: str) -> Entry:
        for side in (self.first, self.second):
            assert side.tree is not None  # noqa: S101 - checked at the start
            entry = side.tree.entries.get(path)
            if entry is not None and entry.type == "directory":
                return entry
        return Entry("directory", 0o755, 0, 0)

    def _stays(self, rule: Rule) -> bool:
        """Whether something of a name that differs stays with the base."""
        if rule.same or rule.follows:
            return False
        ids: set[str | None] = set() if rule.text is None else set(rule.text.ids)
        first, second = rule.entries
        if (
            first is None
            or second is None
            or not (rule.aspects or ids)
            or rule.names[0] != rule.names[1]
        ):
            ids.add(rule.whole)
        ids |= {identity for aspect, identity in rule.aspects.items()
                if aspect != "content" or rule.text is None}  # fmt: skip
        return any(identity not in self._item_of for identity in ids)


def _chosen(rule: Rule, is_second: IsSecond) -> tuple[str | None, Entry | None]:
    """Return the name and the entry of a file in a hybrid; None: it is not there."""
    side = int(is_second(rule.whole))
    if not rule.aspects and rule.text is None:
        return rule.names[side], rule.entries[side]
    first, second = rule.entries
    entry = rule.entries[side]
    assert first is not None and second is not None and entry is not None  # noqa: S101, PT018 - they have parts
    for aspect, identity in rule.aspects.items():
        other = second if is_second(identity) else first
        match aspect:
            case "content":
                entry = entry._replace(size=other.size, digest=other.digest)
            case "target":
                entry = entry._replace(target=other.target)
            case "device":
                entry = entry._replace(device=other.device, block=other.block)
            case "mode":
                entry = entry._replace(mode=other.mode)
            case "owner":
                entry = entry._replace(uid=other.uid, gid=other.gid)
    return rule.names[side], entry
