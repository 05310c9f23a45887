"""Paragraphs of fields, as dpkg and opkg keep what they know of packages (deb822(5))."""

from __future__ import annotations

import re
from collections.abc import Iterator

_EXACT = re.compile(r"([a-z0-9][a-z0-9+.-]{0,127})(?::[a-z0-9]+)?\s*\(=\s*([^)\s]{1,256})\s*\)")
#: More packages are no distribution.
MAX_PACKAGES = 100_000


def read_paragraphs(text: str) -> Iterator[dict[str, str]]:
    """Yield paragraphs; a field's value has its continuation lines joined by blanks."""
    fields: dict[str, str] = {}
    last = ""
    for line in text.split("\n"):
        if not line.strip():
            if fields:
                yield fields
            fields, last = {}, ""
        elif line[0] in " \t":
            # A description can be long, and no field that is read here is.
            if last and len(fields[last]) < 1 << 16:
                fields[last] += " " + line.strip()
        else:
            name, colon, value = line.partition(":")
            last = name.lower() if colon else ""
            if last:
                fields[last] = value.strip()
    if fields:
        yield fields


def exact_dependencies(fields: dict[str, str]) -> set[str]:
    """Return the packages on whose exact version a package depends."""
    text = f"{fields.get('depends', '')}, {fields.get('pre-depends', '')}"
    # Of alternatives none is certain.
    parts = [part for part in text.split(",") if "|" not in part]
    return {match[1] for part in parts if (match := _EXACT.search(part))}
