"""Texts of which each piece is that of one root or of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

K = TypeVar("K")

#: Whether something that differs is as in the second root, by its id; None: it stays with the base.
IsSecond = Callable[[str | None], bool]


@dataclass(frozen=True)
class Piece:
    """A piece of a text on each side, b"" where a side lacks it. id: what exchanges it.

    same: it is on both sides alike.
    """

    first: bytes
    second: bytes
    id: str | None = None
    same: bool = False

    def chosen(self, is_second: IsSecond) -> bytes:
        """Return the text of the side that was chosen."""
        return self.second if not self.same and is_second(self.id) else self.first


@dataclass(frozen=True)
class Text:
    """A text in pieces, in the order of each side.

    order: what exchanges the order. whole: the text of each side as it is, of which a mixture of
    nothing but its pieces is exactly the one; end: what closes each piece but the last.
    """

    pieces: tuple[Piece, ...]
    second_order: tuple[Piece, ...]
    whole: tuple[bytes, bytes]
    end: bytes
    order: str | None = None

    def mixed(self, is_second: IsSecond) -> bytes:
        """Return the text of a hybrid."""
        ordered = self.pieces
        sides = {is_second(piece.id) for piece in self.pieces if not piece.same}
        if self.second_order != self.pieces:
            by_second = is_second(self.order)
            sides.add(by_second)
            ordered = self.second_order if by_second else self.pieces
        if len(sides) <= 1:
            return self.whole[int(sides.pop() if sides else 0)]
        chosen = [text for piece in ordered if (text := piece.chosen(is_second))]
        return b"".join(
            text if text.endswith(self.end) or place == len(chosen) - 1 else text + self.end
            for place, text in enumerate(chosen)
        )

    @property
    def ids(self) -> set[str | None]:
        """What exchanges its pieces, and its order."""
        ids = {piece.id for piece in self.pieces if not piece.same}
        return ids | ({self.order} if self.second_order != self.pieces else set())


def merge_orders(first: Sequence[K], second: Sequence[K]) -> list[K]:
    """Return all that is in either, each once: the first's order, the second's others in theirs.

    What only the second has comes after what stands before it there.
    """
    ours = set(first)
    after: dict[K | None, list[K]] = {}
    last: K | None = None
    for key in dict.fromkeys(second):
        if key in ours:
            last = key
        else:
            after.setdefault(last, []).append(key)
    merged = list(after.get(None, []))
    for key in dict.fromkeys(first):
        merged += [key, *after.get(key, [])]
    return merged
