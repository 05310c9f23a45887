"""Command lines of kernels whose words hybrids exchange."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from whylate.bisect.differences.model import Difference
from whylate.bisect.differences.values import ORDER
from whylate.bisect.images.texts import Piece, Text, merge_orders
from whylate.boards.facts.cmdline import parameters
from whylate.boards.facts.reading import decode
from whylate.text import clean

#: A word ends at a blank outside double quotes, as the kernel's do.
_WORD = re.compile(rb'(?:"[^"]*(?:"|$)|[^\s"])+')
_MOST = 16384


def text_of_words(first: bytes, second: bytes, words: Iterable[Difference]) -> Text | None:
    """Return a command line as a text of words; None: its words are not what was compared.

    words: the differences of its words, whose values have no secrets.
    """
    ids: dict[str, str] = {}
    order = None
    for word in words:
        if word.name == ORDER:
            order = word.id
            continue
        for value in (word.first, word.second):
            if value is not None:
                ids[value] = word.id
    ours, theirs = words_of(first), words_of(second)
    if ours is None or theirs is None:
        return None
    pieces: dict[str, Piece] = {}
    for shown in {**ours, **theirs}:
        both = ours.get(shown), theirs.get(shown)
        same = both[0] is not None and both[1] is not None
        if not same and shown not in ids:
            return None
        pieces[shown] = Piece(both[0] or b"", both[1] or b"", ids.get(shown), same=same)
    orders = [
        tuple(pieces[shown] for shown in merge_orders(list(one_side), list(other)))
        for one_side, other in ((ours, theirs), (theirs, ours))
    ]
    common = [shown for shown in ours if shown in theirs]
    if common == [shown for shown in theirs if shown in ours]:
        orders[1] = orders[0]
    return Text(orders[0], orders[1], (first, second), b" ", order)


def words_of(content: bytes) -> Mapping[str, bytes] | None:
    """Return the words of a command line by how they are shown; None: that is not clear."""
    shown = parameters(clean(decode(content), _MOST))
    words = _WORD.findall(content)
    if len(shown) != len(words) or len(content) > _MOST:
        return None
    return dict(zip(shown, words, strict=True))
