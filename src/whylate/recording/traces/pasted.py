"""What mails and documents put before each line of a trace: quote marks, and an indentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from whylate.recording.traces.layouts import LAYOUTS

#: Lines by which it is known.
_LINES = 2000
_HARD_BLANK = "\u00a0".encode()
_QUOTE = re.compile(rb"^(?:[ \t]{0,8}>[ \t]?)+")
#: Lines that a tool prints at the very left.
_LEFTMOST = re.compile(rb"^([ \t]{0,80})(?:# tracer: |cpus=\d|version = \d|# ========)")
#: How such lines, and those between the events, begin.
_OF_TOOLS = (b"#", b"cpus=", b"version =", b"CPU ", b"CPU:")


def undo_hard_blanks(head: Sequence[bytes]) -> Callable[[bytes], bytes] | None:
    """Return what puts blanks for those that do not break, as mail programs paste; None: few are.

    head: the beginning of the trace. A thread's name may have such a blank: where few lines have
    any, they are left.
    """
    lines = [line for line in head[:_LINES] if line.strip()]
    if 4 * sum(1 for line in lines if _HARD_BLANK in line) <= len(lines):
        return None
    return lambda line: line.replace(_HARD_BLANK, b" ")


def undo_pasting(head: Sequence[bytes]) -> Callable[[bytes], bytes] | None:
    """Return what takes from a line what was put before all of them; None: nothing was.

    head: the beginning of the trace. Where no heading is in it, the blanks that all events begin
    with are taken off, which changes nothing of what a line says.
    """
    lines = [line for line in head[:_LINES] if line.strip()]
    quoted = 2 * sum(1 for line in lines if _QUOTE.match(line)) > len(lines)
    if quoted:
        lines = [_QUOTE.sub(b"", line) for line in lines]
    headings = [match[1] for line in lines if (match := _LEFTMOST.match(line)) is not None]
    before = headings[0] if headings else _before_events(lines)
    if not quoted and not before:
        return None

    def bare(line: bytes) -> bytes:
        line = _QUOTE.sub(b"", line) if quoted else line
        if before and line.startswith(before):
            return line[len(before) :]
        stripped = line.lstrip()
        return stripped if stripped.startswith(_OF_TOOLS) else line

    return bare


def _before_events(lines: Sequence[bytes]) -> bytes:
    """Return the blanks that all lines of events begin with."""
    blanks = [
        line[: len(line) - len(stripped)]
        for line in lines
        if any(layout.odd.match(stripped := line.lstrip()) for layout in LAYOUTS)
    ]
    if not blanks:
        return b""
    # What the first and the last in order have in common all have.
    first, last = min(blanks), max(blanks)
    same = (n for n, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1])
    return first[: next(same, len(first))]
