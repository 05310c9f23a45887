"""The order of differences: parents before their parts, by kind, then as people count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from whylate.bisect.differences.model import Difference
from whylate.bisect.kinds import ORDER, Kind
from whylate.boards.facts.kernel import is_kept

_NUMBER = re.compile(r"(\d{1,18})")


def in_order(listed: Iterable[Difference]) -> list[Difference]:
    """Return differences as a tree in one list; a parent that is not listed counts as none."""
    listed = list(listed)
    known = {difference.id for difference in listed}
    below: dict[str | None, list[Difference]] = {}
    for difference in listed:
        parent = difference.parent if difference.parent in known else None
        below.setdefault(parent, []).append(difference)
    for siblings in below.values():
        siblings.sort(key=_key)
    ordered: list[Difference] = []
    waiting = list(reversed(below.get(None, [])))
    while waiting:
        difference = waiting.pop()
        ordered.append(difference)
        waiting += reversed(below.get(difference.id, []))
    return ordered


def depths(listed: Sequence[Difference]) -> dict[str, int]:
    """Return how deep each difference lies in the tree; listed: parents first."""
    levels: dict[str, int] = {}
    for difference in listed:
        above = levels.get(difference.parent, -1) if difference.parent is not None else -1
        levels[difference.id] = above + 1
    return levels


def _key(difference: Difference) -> tuple[int, bool, list[tuple[int, int, str]], str]:
    """Return what to sort by: cpu2 stands before cpu10.

    The options of a kernel that matter for latency stand before all others.
    """
    parts = _NUMBER.split(difference.name)
    words = [
        (0, int(part), part) if position % 2 else (1, 0, part)
        for position, part in enumerate(parts)
        if part
    ]
    is_minor = difference.kind is Kind.OPTION and not is_kept(difference.name)
    return ORDER[difference.kind], is_minor, words, difference.id
