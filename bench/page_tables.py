"""The tables of a calibration on their page of the documentation, between two markers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "calibration.md"
_END = "<!-- and so far -->"


def write_tables(program: str, lines: Sequence[str]) -> None:
    """Put lines of Markdown where the page has those of bench/`program`.py.

    Raises ValueError where it has no place for them.
    """
    begin = f"<!-- written by bench/{program}.py -->"
    head, found, rest = PAGE.read_text().partition(begin)
    _, end, tail = rest.partition(_END)
    if not found or not end:
        raise ValueError(f"{PAGE} has no place for the tables: it lacks {begin!r} or {_END!r}")
    PAGE.write_text("\n".join([head + begin, "", *lines, "", _END + tail]))
