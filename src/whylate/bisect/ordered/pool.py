"""Several boards that run the same versions side by side: boards are a block factor.

Each version that is run is run on all boards, so that one build serves all, and what boards differ
in is in every version alike. Where a board is lost it would not be any more: values count relative
to the board's own runs of both ends.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import msgspec

from whylate.bisect.ordered.model import Step


def without_boards(steps: Sequence[Step], ends: tuple[str, str]) -> list[Step]:
    """Return steps whose values have no effect of their board.

    ends: the first version and the last one. Of logarithms, the median of a board's runs of an end
    is the board's effect and the end's: both are fitted together, so that a board that has run one
    end alone counts, too. A board that has run neither end has no effect.
    """
    values: dict[tuple[str, str], list[float]] = {}
    for step in steps:
        if step.kind == "run" and step.value is not None and step.version in ends:
            values.setdefault((step.board, step.version), []).append(step.value)
    medians: dict[str, dict[str, float]] = {}
    for (board, end), row in values.items():
        medians.setdefault(board, {})[end] = statistics.median(row)
    effects = _fit_boards(medians, ends)
    return [
        step
        if step.value is None
        else msgspec.structs.replace(step, value=step.value - effects.get(step.board, 0.0))
        for step in steps
    ]


def _fit_boards(
    medians: Mapping[str, Mapping[str, float]], ends: tuple[str, str]
) -> dict[str, float]:
    """Return the effect of each board; medians: of each board, by end, at least one.

    Least squares of board + end over the cells that there are. A board with one end has a parameter
    of its own, so that the difference of the ends is the mean over boards with both. Where no board
    has both, boards of different ends cannot be compared: each counts among those of its own end.
    """
    first, last = ends
    both = [median[last] - median[first] for median in medians.values() if len(median) > 1]
    end_effects = {first: 0.0, last: statistics.fmean(both) if both else 0.0}
    levels = {
        board: statistics.fmean(value - end_effects[end] for end, value in median.items())
        for board, median in medians.items()
    }
    comparable = {board: "" if both else next(iter(median)) for board, median in medians.items()}
    return {
        board: level
        - statistics.fmean(levels[other] for other in levels if comparable[other] == group)
        for (board, level), group in zip(levels.items(), comparable.values(), strict=True)
    }
