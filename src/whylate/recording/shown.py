"""Short texts of a board's, as they are kept: of bounded length, and nothing in them acts."""

from __future__ import annotations


def shown(text: str, most: int) -> str:
    """Return at most so many characters; what cannot be printed, and what is no Unicode, as "?"."""
    return "".join(c if c.isprintable() else "?" for c in text[:most])
