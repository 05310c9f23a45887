"""Text files whose lines hybrids exchange."""

from __future__ import annotations

import re
from collections.abc import Collection

from whylate.bisect.differences.lines import compare_lines
from whylate.bisect.differences.model import difference_id
from whylate.bisect.images.texts import Piece, Text
from whylate.bisect.kinds import Kind

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


def text_of_lines(
    path: str, first: bytes, second: bytes, ids: Collection[str], other: str | None
) -> Text | None:
    """Return a file as a text of lines; None: its lines are not what was compared.

    ids: of the differences. other: what exchanges lines that are not among them.
    """
    hunks = compare_lines(first, second)
    if hunks is None:
        return None
    ours = _LINE.findall(first)
    pieces: list[Piece] = []
    at = 0
    for hunk in hunks:
        # Of a side without lines the number is that of the line that follows.
        start = hunk.first_line - 1
        pieces += (Piece(line, line, same=True) for line in ours[at:start])
        number = hunk.second_line if hunk.first is None else hunk.first_line
        identity = difference_id(Kind.LINE, f"{path}:{number}", hunk.first, hunk.second)
        texts = [b"" if text is None else text.encode() for text in (hunk.first, hunk.second)]
        pieces.append(Piece(texts[0], texts[1], identity if identity in ids else other))
        at = start + len(_LINE.findall(texts[0]))
    pieces += (Piece(line, line, same=True) for line in ours[at:])
    if b"".join(piece.second for piece in pieces) != second:
        return None
    return Text(tuple(pieces), tuple(pieces), (first, second), b"\n")
