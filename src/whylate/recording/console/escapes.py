"""Escape sequences of terminals in what a board printed."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]{0,16}[A-Za-z]|[()][AB012]|[=>78])")


def without_escapes(text: str) -> str:
    """Return text without colours, movements of the cursor and character sets."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text
