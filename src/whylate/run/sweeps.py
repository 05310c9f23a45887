"""Parse the values of swept parameters: sizes and counts."""

from __future__ import annotations

import re

from whylate.text import is_number

#: A longer number is no count.
_MAX_DIGITS = 6
_SIZE = re.compile(r"(\d{1,15})\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int | None:
    """Return a size in bytes: 0, 4k, 64M, 1GiB, powers of 1024; None for another text."""
    match = _SIZE.fullmatch(text.strip())
    return None if match is None else int(match[1]) << (10 * _POWERS[match[2].lower()])


def parse_count(text: str) -> int | None:
    """Return a number of tasks or threads; None for another text."""
    return int(text) if is_number(text, _MAX_DIGITS) else None


def parse_chunk(text: str) -> int | None:
    """Return a number of lines; 0 for "tuned", and the most for "all"; None for another text."""
    from whylate.wire.constants import MOST_BULK_LINES

    if text in ("all", "tuned"):
        return MOST_BULK_LINES if text == "all" else 0
    return parse_count(text) or None
