"""A late activation told in one line."""

from __future__ import annotations

from itertools import accumulate

from whylate.causes.window.piece import Cause, Piece
from whylate.report.terminal.causes import longest_pieces


def pieces(*parts: tuple[Cause, str, int]) -> tuple[Piece, ...]:
    ends = list(accumulate(length for _, _, length in parts))
    return tuple(
        Piece(end - length, end, cause, detail)
        for (cause, detail, length), end in zip(parts, ends, strict=True)
    )


def test_what_short_ones_come_between_is_told_as_one() -> None:
    tick = (Cause.INTERRUPT, "local_timer", 5)
    make = (Cause.THREAD, "make", 500)
    assert longest_pieces(pieces(make, tick, make, tick, (Cause.RETURN, "", 40)), 1050) == [
        (Cause.THREAD, "make", 1000),
        (Cause.RETURN, "", 40),
    ]


def test_what_is_long_comes_between() -> None:
    tick = (Cause.INTERRUPT, "local_timer", 100)
    make = (Cause.THREAD, "make", 500)
    assert longest_pieces(pieces(make, tick, make), 1100) == [make, tick, make]


def test_what_many_short_ones_cut_into_shorter_ones_is_told() -> None:
    parts = [(Cause.THREAD, "make", 6), (Cause.INTERRUPT, "eth0", 4)] * 100
    names = [(cause, detail) for cause, detail, _ in longest_pieces(pieces(*parts), 1000)]
    assert (Cause.THREAD, "make") in names
    assert (Cause.INTERRUPT, "eth0") in names
    assert longest_pieces(pieces((Cause.NMI, "", 9), (Cause.THREAD, "make", 991)), 1000) == [
        (Cause.THREAD, "make", 991)
    ]
