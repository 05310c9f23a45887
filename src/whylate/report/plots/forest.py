"""The forest plot: ratios below each other, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from whylate.compare.model import Comparison
from whylate.compare.words import percent_text
from whylate.report.plots.chart import LEFT, Scale, Tick, across, apart
from whylate.text import plain

#: A row, and the room above the first.
ROW = 34
_ABOVE = 18
#: Changes at which there is a tick, and the room that its label takes.
_ROUND = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4, 9, 19, 49, 99, 999)
_LABEL = 90
#: Room for the ratios in figures, right of the plot, and for verdicts behind them.
_VALUES, _VERDICTS = 270, 120
#: Of names, left of it: of a character, and beside them; and the most characters.
_CHARACTER, _BESIDE = 9.6, 16
_MOST_CHARACTERS = 44


@dataclass(frozen=True)
class Ratio:
    """What is plotted. clear: its interval excludes 1. verdict: of this row, where it has one."""

    name: str
    ratio: float
    low: float | None
    high: float | None
    clear: bool
    verdict: str = ""


@dataclass(frozen=True)
class Whisker:
    """A row: a ratio and its interval, in units of the box. title: its whole name."""

    name: str
    title: str
    text: str
    y: float
    at: float
    low: float | None
    high: float | None
    clear: bool


@dataclass(frozen=True)
class Forest:
    """Ratios below each other; unity: the place of ratio 1. left: where names end.

    caption: the accessible description.
    """

    caption: str
    rows: list[Whisker]
    x_ticks: list[Tick]
    unity: float
    left: float
    height: int


def of_comparison(comparison: Comparison, alpha: float = 0.05) -> Forest | None:
    """Return the ratios of a comparison; None where there is none."""
    return forest(
        "Ratios with 95 % intervals",
        [
            Ratio(
                row.name,
                row.ratio,
                row.low,
                row.high,
                row.p is not None and row.p <= alpha,
                row.verdict or "",
            )
            for row in comparison.statistics
            if row.ratio is not None and not row.linear
        ],
    )


def forest(caption: str, rows: Sequence[Ratio]) -> Forest | None:
    """Return the plot; None without a row."""
    if not rows:
        return None
    ends = [value for row in rows for value in (row.ratio, row.low, row.high) if value is not None]
    span = max(1.02, *(max(value, 1 / value) for value in ends)) ** 1.05
    longest = max(len(plain(row.name, _MOST_CHARACTERS)) for row in rows)
    left = max(LEFT, longest * _CHARACTER + _BESIDE)
    right = _VALUES + _VERDICTS * any(row.verdict for row in rows)
    x = across(1 / span, span, log=True, left=left, right=right)
    round_ones = [value for part in _ROUND for value in (1 / (1 + part), 1 + part)]
    inside = sorted(value for value in round_ones if 1 / span < value < span)
    # 1 has its tick; of the others the outermost come first.
    shown = [1.0, *sorted(inside, key=lambda ratio: -abs(math.log(ratio)))]
    return Forest(
        caption,
        [_whisker(row, number, x) for number, row in enumerate(rows)],
        [Tick(x(value), f"× {value:.3g}") for value in apart(shown, x, _LABEL)],
        x(1.0),
        left - 8,
        _ABOVE + ROW * len(rows) + 30,
    )


def _whisker(row: Ratio, number: int, x: Scale) -> Whisker:
    text = percent_text(row.ratio)
    if row.low is not None and row.high is not None:
        text += f" [{percent_text(row.low)}, {percent_text(row.high)}]"
    text += f" {row.verdict}" if row.verdict else ""
    return Whisker(
        plain(row.name, _MOST_CHARACTERS),
        plain(row.name, 200),
        text,
        _ABOVE + ROW * number + ROW / 2,
        x(row.ratio),
        None if row.low is None else x(row.low),
        None if row.high is None else x(row.high),
        row.clear,
    )
