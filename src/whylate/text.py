"""Text that comes from a board, made harmless: what is shown is what was sent, nothing acts."""

from __future__ import annotations

import re
import unicodedata

#: Control, format (bidirectional overrides, zero-width), surrogate, private, unassigned, and
#: the two separators that some readers take for a line break.
_SHOWN_AS_CODE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: Blanks and control characters.
_ASCII_CONTROL = re.compile(r"[\x00-\x20\x7f]+")


def plain(text: str, limit: int = 400) -> str:
    r"""Return one line that is safe to print: control characters become visible (`\x1b`).

    Anything past `limit` characters is cut off and the cut is marked with "…". The result holds
    no control character, no bidirectional override and no line break. It is not escaped for HTML
    or for a markup language: that is the work of whoever puts it there.
    """
    return _visible(text.replace("\r\n", " ").replace("\n", " ").replace("\t", " "), limit, "")


def plain_lines(text: str, limit: int = 4000) -> str:
    """Like `plain`, but line breaks and tabs are kept: for values that are shown in a block."""
    return _visible(text.replace("\r\n", "\n"), limit, "\n\t")


def clean(text: str, limit: int = 400) -> str:
    """Make one printable line of at most `limit` characters of any text.

    Runs of blanks and control characters become one blank; format characters (which could
    reorder a terminal line) and unassigned ones are dropped.
    """
    if not text.isascii():
        text = "".join(_printable(char) for char in text)
    text = _ASCII_CONTROL.sub(" ", text).strip()
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shown(text: str, most: int) -> str:
    """Return at most so many characters; what cannot be printed, and what is no Unicode, as "?"."""
    return "".join(c if c.isprintable() else "?" for c in text[:most])


def path_part(name: str) -> str:
    """Return a name as a part of a path: ssh://root@board7 is root@board7."""
    return re.sub(r"[^A-Za-z0-9._@+-]+", "-", name.removeprefix("ssh://"))[:80].strip(".") or "-"


def is_number(text: str, digits: int = 18) -> bool:
    """Whether a text is a whole number of at most so many ASCII digits.

    str.isdigit() has more, which int() refuses ("²"), and int() refuses more than 4300 of them.
    """
    return text.isascii() and text.isdecimal() and len(text) <= digits


def _printable(char: str) -> str:
    category = unicodedata.category(char)
    if category in {"Cc", "Zl", "Zp", "Zs"}:
        return " "
    return "" if category.startswith("C") else char


def _visible(text: str, limit: int, kept: str) -> str:
    cut = text[:limit]
    if not cut.isascii() or not cut.isprintable():
        cut = "".join(c if c in kept else _visible_character(c) for c in cut)
    return f"{cut}…" if len(text) > limit else cut


def _visible_character(character: str) -> str:
    if unicodedata.category(character) not in _SHOWN_AS_CODE:
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
