"""Runs that stand in several rows of a table: each pair's value is a statistic of the run.

A run (a boot, a round) built every package, say, and has a row for each. Rows of one run share
whatever the run was like, so that they are no independent values: runs are exchanged as a whole,
and all pairs are tested together, as the statistics of any run are. The geometric mean of all pairs
is one statistic more. A pair's interval is its own; its p and the verdict are held to 5 % over all
of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whylate.compare.judge import compare
from whylate.compare.model import Comparison, Question
from whylate.compare.runs import Arm, Run
from whylate.recording.imported.model import InputError
from whylate.recording.imported.numbers import Table
from whylate.stats.comparison.run_statistics import Statistic, exact_value

#: Of all pairs of a run.
MEAN = "geometric mean"
#: More pairs are refused: each is a row of what is printed.
MOST_PAIRS = 1000


def compare_runs_of_rows(
    table: Table,
    by: str,
    kinds: Sequence[str],
    pair: Sequence[str],
    run: str,
    question: Question,
    *,
    independent: bool,
) -> Comparison:
    """Compare runs of several rows by every pair and by their geometric mean.

    kinds: both values of the column `by`. pair: columns whose values name a pair, in every run
    once. run: the column that tells the runs of a side apart; where both sides have runs of the
    same names, these were made in turns, and are exchanged within such couples alone. Raises
    InputError for a value that has no logarithm, and for a run that lacks a pair or has it twice.
    """
    sides = [_values_by_run(table, by, kind, pair, run) for kind in kinds]
    names = list(
        dict.fromkeys(name for side in sides for values in side.values() for name in values)
    )
    if len(names) > MOST_PAIRS:
        raise InputError(f"{table.path} has {len(names)} pairs: at most {MOST_PAIRS} are compared")
    if MEAN in names:
        raise InputError(f"{table.path}: a pair is called {MEAN!r}, as that of all pairs is")
    _check_whole(table, by, kinds, run, sides, names)
    statistics = tuple(Statistic(name) for name in (*names, MEAN))
    for stated in question.margins:
        if stated not in (*names, MEAN):
            raise InputError(f"--same {stated}: what is compared is {MEAN!r} and each pair")
    couples = set(sides[0]) == set(sides[1])
    arms = [
        Arm(
            f"{by} {kind}",
            tuple(
                Run(
                    f"{by} {kind}, {run} {label}",
                    {name: exact_value(value) for name, value in _with_mean(values).items()},
                    1,
                    boot=f"{kind} {label}" if independent else None,
                    pair=label if couples else "",
                    statistics=statistics,
                    by_points=True,
                )
                for label, values in side.items()
            ),
        )
        for kind, side in zip(kinds, sides, strict=True)
    ]
    return compare(arms[0], arms[1], replace(question, statistics=statistics))


def _values_by_run(
    table: Table, by: str, kind: str, pair: Sequence[str], run: str
) -> dict[str, dict[str, float]]:
    """Return the logarithms of a side's values, by run and pair."""
    side: dict[str, dict[str, float]] = {}
    for number, (value, factors) in enumerate(zip(table.values, table.factors, strict=True), 1):
        if factors[by] != kind:
            continue
        if value <= 0:
            raise InputError(
                f"{table.path}, row {number}: {value:g} is not above 0, and has no ratio"
            )
        values = side.setdefault(factors[run], {})
        name = " ".join(factors[column] for column in pair)
        if name in values:
            raise InputError(
                f"{table.path} has several rows of {by} {kind}, {run} {factors[run]} with the same "
                f"{', '.join(pair)}: name more columns with --pair"
            )
        values[name] = math.log(value)
    return side


def _check_whole(
    table: Table,
    by: str,
    kinds: Sequence[str],
    run: str,
    sides: Sequence[dict[str, dict[str, float]]],
    names: Sequence[str],
) -> None:
    """Raise InputError where a run lacks a pair: its mean would be of others."""
    for kind, side in zip(kinds, sides, strict=True):
        for label, values in side.items():
            missing = [name for name in names if name not in values]
            if missing:
                raise InputError(
                    f"{table.path} has no row of {missing[0][:60]} in {run} {label[:60]} of {by} "
                    f"{kind[:60]}: every run has each pair; build it there too, or take that run "
                    "or pair out of the table"
                )


def _with_mean(values: dict[str, float]) -> dict[str, float]:
    return {**values, MEAN: float(np.mean(list(values.values())))}
