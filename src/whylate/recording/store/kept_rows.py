"""Rows above a limit, found in one pass and kept: those above a higher limit are among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from whylate.recording.samples import Bools, Int64s

#: No more are kept than one row in so many.
_KEPT_OF = 48

_Found = tuple[Int64s, Int64s, Bools]


class _Rows(Protocol):
    """What has rows: a whylate.recording.samples.Activations, or a view of one."""

    @property
    def size(self) -> int:
        """How many."""

    def chunks(self) -> Iterator[tuple[Int64s, Bools]]:
        """Yield latencies and overruns of all rows."""


class KeptRows:
    """The rows of one series that were looked for last."""

    def __init__(self) -> None:
        # By whether all overruns are among them; with the limit that they are above.
        self._kept: dict[bool, tuple[int, _Found]] = {}

    def exceeding(self, series: _Rows, limit_ns: int, *, overruns: bool) -> _Found:
        """Return rows above a limit, int64; latencies, int64 ns; overruns, bool; shape (n,).

        overruns: all are among them. Whoever asks for the lowest limit first reads the series once.
        """
        kept = self._kept.get(overruns)
        if kept is not None and kept[0] <= limit_ns:
            rows, latency_ns, overrun = kept[1]
            above = latency_ns > limit_ns
            if overruns:
                above |= overrun
            return rows[above], latency_ns[above], overrun[above]
        these = _find(series.chunks(), limit_ns, overruns=overruns)
        if these[0].size * _KEPT_OF <= series.size:
            self._kept[overruns] = limit_ns, these
        return these


def _find(chunks: Iterator[tuple[Int64s, Bools]], limit_ns: int, *, overruns: bool) -> _Found:
    """Return the rows above a limit, their latencies, and which are overruns, in one pass."""
    parts: list[_Found] = []
    first = 0
    for latency_ns, overrun in chunks:
        above = latency_ns > limit_ns
        rows = np.flatnonzero(above | overrun if overruns else above)
        if rows.size:
            parts.append((rows + first, latency_ns[rows], overrun[rows]))
        first += latency_ns.size
    if not parts:
        none = np.zeros(0, np.int64)
        return none, none, none.astype(np.bool_)
    rows_of, latencies, overruns_of = zip(*parts, strict=True)
    return np.concatenate(rows_of), np.concatenate(latencies), np.concatenate(overruns_of)
