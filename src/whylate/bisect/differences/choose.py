"""Differences that the user excludes, keeps, or pins together, by patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate

from whylate.bisect.differences.atoms import Groups, join_matches, name_atoms
from whylate.bisect.differences.model import Difference


@dataclass(frozen=True)
class Choice:
    """Patterns of names, as of files in a shell: `*` also matches a slash.

    KIND:PATTERN matches one kind. exclude: not listed. keep: listed, and never exchanged. pin: all
    that match one pattern are exchanged together. What matches takes its parts along.
    """

    exclude: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    pin: tuple[str, ...] = ()


def choose(listed: Sequence[Difference], choice: Choice, groups: Groups) -> list[Difference]:
    """Return differences as patterns choose them, with their atoms; groups: what is one anyway."""
    chosen = keep(exclude(listed, choice.exclude), choice.keep)
    for pattern in choice.pin:
        join_matches(pinned(chosen, pattern), groups)
    return name_atoms(chosen, groups)


def exclude(listed: Sequence[Difference], patterns: Sequence[str]) -> list[Difference]:
    """Return differences without those that match, or are a part of one that does."""
    if not patterns:
        return list(listed)
    gone = set(_matching(listed, patterns))
    return [difference for difference in listed if difference.id not in gone]


def keep(listed: Sequence[Difference], patterns: Sequence[str]) -> list[Difference]:
    """Return differences, those marked as kept that match or are a part of one that does."""
    if not patterns:
        return list(listed)
    kept = set(_matching(listed, patterns))
    return [replace(difference, kept=difference.id in kept) for difference in listed]


def pinned(listed: Sequence[Difference], pattern: str) -> list[Difference]:
    """Return the differences that match a pattern, without their parts."""
    expression = _compile(pattern)
    return [difference for difference in listed if _is_match(difference, expression)]


def _matching(listed: Sequence[Difference], patterns: Sequence[str]) -> Iterator[str]:
    """Yield the ids of what matches and of its parts; listed: parents first."""
    expressions = [_compile(pattern) for pattern in patterns]
    matching: set[str] = set()
    for difference in listed:
        if difference.parent in matching or any(
            _is_match(difference, expression) for expression in expressions
        ):
            matching.add(difference.id)
            yield difference.id


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def _is_match(difference: Difference, expression: re.Pattern[str]) -> bool:
    return any(
        expression.match(text) is not None
        for text in (difference.name, f"{difference.kind.value}:{difference.name}")
    )
