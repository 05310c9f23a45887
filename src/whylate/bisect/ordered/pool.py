"""Several boards that run the same versions side by side: boards are a block factor.

Each version that is run is run on all boards, so that one build serves all, and what boards differ
in is in every version alike. Where a board is lost it would not be any more: values count relative
to the board's own runs of both ends.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from whylate.bisect.ordered.model import Step


def without_boards(steps: Sequence[Step], ends: tuple[str, str]) -> list[Step]:
    """Return steps whose values have no effect of their board.

    ends: the first version and the last one. The effect of a board is, of logarithms, the median of
    its runs of an end less the mean of the medians of all boards that have run it, averaged over
    both ends. A board that has run neither end has none.
    """
    values: dict[tuple[str, str], list[float]] = {}
    for step in steps:
        if step.kind == "run" and step.value is not None and step.version in ends:
            values.setdefault((step.board, step.version), []).append(step.value)
    medians = {key: statistics.median(row) for key, row in values.items()}
    means = {
        end: statistics.fmean(row)
        for end in ends
        if (row := [median for (_, version), median in medians.items() if version == end])
    }
    beyond: dict[str, list[float]] = {}
    for (board, end), median in medians.items():
        beyond.setdefault(board, []).append(median - means[end])
    effects = {board: statistics.fmean(row) for board, row in beyond.items()}
    return [
        step
        if step.value is None
        else msgspec.structs.replace(step, value=step.value - effects.get(step.board, 0.0))
        for step in steps
    ]
