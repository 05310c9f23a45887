"""Differences of lines of a text file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

#: Larger files are no settings, and stay whole.
MAX_TEXT = 256 << 10
#: Work of the comparison: pairs of equal lines.
_MAX_PAIRS = 1_000_000
_MAX_LINES = 20_000
#: A block of more lines is one difference: it is a passage, and no list of settings.
_MAX_SPLIT = 64
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
#: Control characters that no text has.
_CONTROL = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b")


@dataclass(frozen=True)
class Hunk:
    """Lines that differ: their text on each side, None for none, and the first line's numbers.

    A number counts from 1; of a side without lines it is that of the line that follows.
    """

    first: str | None
    second: str | None
    first_line: int
    second_line: int


def is_text(content: bytes) -> bool:
    """Whether a file is a text in UTF-8 that is short enough to be opened."""
    if len(content) > MAX_TEXT or not _CONTROL.isdisjoint(content):
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def compare_lines(first: bytes, second: bytes) -> list[Hunk] | None:
    """Return the lines in which two texts differ; None: too long to compare.

    Blocks are split to lines where the lines on both sides correspond, or one side has none.
    """
    # Not splitlines(), for which a form feed ends a line too.
    ours, theirs = (_LINE.findall(content.decode()) for content in (first, second))
    start = common_start(ours, theirs)
    end = common_start(ours[start:][::-1], theirs[start:][::-1])
    ours, theirs = ours[start : len(ours) - end], theirs[start : len(theirs) - end]
    counts = Counter(theirs)
    if (
        len(ours) + len(theirs) > _MAX_LINES
        or sum(number * counts[line] for line, number in Counter(ours).items()) > _MAX_PAIRS
    ):
        return None
    hunks: list[Hunk] = []
    for tag, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag != "equal":
            hunks += _split(ours[a:b], theirs[c:d], start + a + 1, start + c + 1)
    return hunks


def common_start(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many lines, or characters, two texts have in common at their start."""
    for number, (ours, theirs) in enumerate(zip(first, second, strict=False)):
        if ours != theirs:
            return number
    return min(len(first), len(second))


def _split(ours: list[str], theirs: list[str], first: int, second: int) -> Iterator[Hunk]:
    longer = max(len(ours), len(theirs))
    if longer > _MAX_SPLIT or (ours and theirs and len(ours) != len(theirs)):
        yield Hunk("".join(ours) or None, "".join(theirs) or None, first, second)
        return
    for number in range(longer):
        yield Hunk(
            ours[number] if ours else None,
            theirs[number] if theirs else None,
            first + (number if ours else 0),
            second + (number if theirs else 0),
        )
