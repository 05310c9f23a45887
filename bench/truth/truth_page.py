"""The tables on their page of the documentation, between two markers."""

from __future__ import annotations

from pathlib import Path

BEGIN = "<!-- written by make truth: from here -->"
END = "<!-- written by make truth: to here -->"


def write_page(path: Path, text: str) -> None:
    """Put the tables between the markers of a page; raises ValueError where it has none."""
    page = path.read_text()
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no place for the tables: it lacks {BEGIN!r} or {END!r}")
    path.write_text(f"{head}{BEGIN}\n\n{text.strip()}\n\n{END}{tail}")
