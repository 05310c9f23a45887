"""The list of differences as lines of text: counts first, then a tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.table import Table

from whylate.bisect.differences.lines import common_start
from whylate.bisect.differences.model import Difference, Differences
from whylate.bisect.differences.order import depths
from whylate.bisect.kinds import PLURALS, Kind
from whylate.text import plain

#: Differences of one kind, and parts of one difference, that are shown unless all are.
_SHOWN = 8
_SHOWN_PARTS = 4
_MAX_VALUE = 48
_MAX_NAME = 80
#: Characters that are shown of what two long values begin with.
_BEFORE = 8
_DIGEST = re.compile(r"sha256 ([0-9a-f]{12})[0-9a-f]{52}")


def counts_table(differences: Differences) -> Table:
    """Return a table of the kinds that differ."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("kind")
    first, second = plain(differences.first, 24), plain(differences.second, 24)
    for heading in ("differ", f"only {first}", f"only {second}"):
        table.add_column(heading, justify="right", overflow="fold")
    only_first: dict[Kind, int] = {}
    only_second: dict[Kind, int] = {}
    for difference in differences.listed:
        if difference.second is None:
            only_first[difference.kind] = only_first.get(difference.kind, 0) + 1
        elif difference.first is None:
            only_second[difference.kind] = only_second.get(difference.kind, 0) + 1
    for kind, count in differences.counts.items():
        one_sided = (only_first.get(kind, 0), only_second.get(kind, 0))
        table.add_row(
            PLURALS[kind], f"{count:,}", *(f"{number:,}" if number else "" for number in one_sided)
        )
    return table


def tree_lines(differences: Differences, *, everything: bool = False) -> Iterator[str]:
    """Yield a line for each difference, below its parent; all of them, or the first of each."""
    levels = depths(differences.listed)
    names = {difference.id: difference.name for difference in differences.listed}
    shown = _shown(differences.listed) if not everything else set(levels)
    cut: dict[str | None, list[Difference]] = {}
    for difference in differences.listed:
        parent = difference.parent if difference.parent in levels else None
        if difference.id not in shown and (parent is None or parent in shown):
            cut.setdefault(parent, []).append(difference)
    open_parents: list[str] = []
    last_kind: Kind | None = None
    hidden = dict.fromkeys(Kind, 0)
    for difference in cut.pop(None, []):
        hidden[difference.kind] += 1
    for difference in differences.listed:
        if difference.id not in shown:
            continue
        level = levels[difference.id]
        while len(open_parents) > level:
            yield from _more(cut.get(open_parents.pop(), []), len(open_parents) + 1)
        if level == 0 and difference.kind is not last_kind:
            yield from _more_of_kind(last_kind, hidden)
            last_kind = difference.kind
            yield f"{PLURALS[difference.kind]}:"
        open_parents.append(difference.id)
        yield f"{'  ' * (level + 1)}{_line(difference, names, level)}"
    while open_parents:
        yield from _more(cut.get(open_parents.pop(), []), len(open_parents) + 1)
    yield from _more_of_kind(last_kind, hidden)


def not_compared_lines(differences: Differences) -> Iterator[str]:
    """Yield a line for each reason why kinds are not compared."""
    kinds: dict[str, list[str]] = {}
    for missing in differences.not_compared:
        kinds.setdefault(missing.reason, []).append(PLURALS[missing.kind])
    for reason, names in kinds.items():
        yield plain(f"not comparable: {', '.join(names)}; {reason}", 600)


def _shown(listed: Sequence[Difference]) -> set[str]:
    """Return the ids of the first differences of each kind and parent."""
    shown: set[str] = set()
    counts: dict[tuple[str | None, Kind | None], int] = {}
    by_id = {difference.id: difference for difference in listed}
    for difference in listed:
        parent = None if difference.parent is None else by_id.get(difference.parent)
        key = (None, difference.kind) if parent is None else (parent.id, None)
        counts[key] = counts.get(key, 0) + 1
        if parent is None:
            limit = _SHOWN
        else:
            # All parts of what only one side has are only there, too.
            one_sided = parent.first is None or parent.second is None
            limit = 0 if one_sided or parent.id not in shown else _SHOWN_PARTS
        if counts[key] <= limit:
            shown.add(difference.id)
    return shown


def _more(hidden: Sequence[Difference], level: int) -> Iterator[str]:
    """Yield how many parts of one difference are not shown."""
    if hidden:
        kinds = Counter(difference.kind for difference in hidden)
        words = ", ".join(_count(kind, number) for kind, number in kinds.items())
        yield f"{'  ' * (level + 1)}… more: {words}"


def _more_of_kind(kind: Kind | None, hidden: dict[Kind, int]) -> Iterator[str]:
    if kind is not None and hidden[kind]:
        yield f"  … more: {_count(kind, hidden[kind])}"


def _count(kind: Kind, number: int) -> str:
    return f"1 {kind.value}" if number == 1 else f"{number:,} {PLURALS[kind]}"


def _line(difference: Difference, names: dict[str, str], level: int) -> str:
    kind = f"{difference.kind.value} " if level else ""
    marks = ""
    if difference.atom is not None and difference.atom not in (difference.id, difference.parent):
        marks += f"  [with {plain(names.get(difference.atom, '?'), 40)}]"
    if difference.kept:
        marks += "  [kept]"
    name = plain(difference.name, _MAX_NAME)
    first, second = _values(difference.first, difference.second)
    return f"{kind}{name}  {first} → {second}{marks}"


def _values(first: str | None, second: str | None) -> tuple[str, str]:
    """Write both values; long ones from where they differ."""
    same = 0
    if first is not None and second is not None and max(len(first), len(second)) > _MAX_VALUE:
        same = max(0, common_start(first, second) - _BEFORE)
    if same + _BEFORE < _MAX_VALUE // 2:
        same = 0
    return _value(first, same), _value(second, same)


def _value(value: str | None, same: int) -> str:
    if value is None:
        return "absent"
    text = _DIGEST.sub(r"sha256 \1", value[same:]).rstrip("\n")
    return f"{'…' if same else ''}{plain(text, _MAX_VALUE)}" or "empty"
