"""Factors of a table that cannot be separated, and comparisons by several of those that can.

Two factors are aliased where one never changes without the other: whatever differs between their
settings may be the effect of either, and no statistic helps. Only rows in which one of them changes
alone do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from whylate.compare.model import ArmFigures, Comparison, Question
from whylate.compare.number_sides import compare_groups
from whylate.compare.words import names_text
from whylate.recording.imported.model import InputError
from whylate.recording.imported.numbers import Table
from whylate.stats.comparison.factorial import MOST_FACTORS

#: A side of fewer rows goes together with anything.
_FEWEST_ROWS = 2
#: Columns that are named.
_MOST_NAMED = 4


@dataclass(frozen=True)
class _Stratum:
    """Rows in which only one factor changes. others: the settings of the other factors."""

    table: Table
    others: str


def compare_by_factors(
    table: Table,
    factors: Sequence[str],
    pair: Sequence[str],
    question: Question,
    *,
    independent: bool,
    run: str | None = None,
) -> list[Comparison]:
    """Compare by each of several columns while the others stay the same.

    A comparison for each factor and each setting of the others in which it changes. Factors that
    never change alone get one without a verdict, which names what they go together with. pair,
    independent, run: as of compare_groups(). Raises InputError.
    """
    _check(table, factors)
    comparisons: list[Comparison] = []
    named: set[frozenset[str]] = set()
    for factor in factors:
        strata = _strata(table, factor, [other for other in factors if other != factor])
        for stratum in strata:
            comparison = compare_groups(
                stratum.table, factor, pair, question, independent=independent, run=run
            )
            comparisons.append(_with_others(comparison, stratum.others))
        if not strata:
            group = frozenset([factor, *going_together(table, factor, factors)])
            if group not in named:
                named.add(group)
                comparisons.append(_inseparable(table, factor, factors, question))
    return comparisons


def _check(table: Table, factors: Sequence[str]) -> None:
    """Raise InputError for columns that are no factors of two settings."""
    if not 2 <= len(set(factors)) == len(factors) <= MOST_FACTORS:
        raise InputError(f"--by takes up to {MOST_FACTORS} columns, each once")
    for factor in factors:
        if not table.factors or factor not in table.factors[0]:
            raise InputError(
                f"{table.path} has no column {factor[:60]!r}, or several, beside {table.name!r}"
            )
        kinds = _kinds(table, factor)
        if len(kinds) != 2:
            raise InputError(
                f"{factor[:60]!r} has {len(kinds)} values in {table.path}: two are compared"
            )


def _kinds(table: Table, factor: str) -> list[str]:
    return list(dict.fromkeys(row[factor] for row in table.factors))


def _strata(table: Table, factor: str, others: Sequence[str]) -> list[_Stratum]:
    """Return the rows of each setting of the other factors in which this factor changes."""
    rows: dict[tuple[str, ...], list[int]] = {}
    # The first setting of the whole table is side A everywhere.
    kinds = _kinds(table, factor)
    order = sorted(enumerate(table.factors), key=lambda item: kinds.index(item[1][factor]))
    for number, row in order:
        rows.setdefault(tuple(row[other] for other in others), []).append(number)
    return [
        _Stratum(
            replace(
                table,
                values=tuple(table.values[number] for number in numbers),
                factors=tuple(table.factors[number] for number in numbers),
            ),
            ", ".join(f"{other} {value}" for other, value in zip(others, setting, strict=True)),
        )
        for setting, numbers in rows.items()
        if len({table.factors[number][factor] for number in numbers}) == 2
    ]


def _with_others(comparison: Comparison, others: str) -> Comparison:
    """Return a comparison whose sides have the settings of the other factors in their names."""
    first, second = (
        ArmFigures(f"{arm.name} ({others})", arm.runs, arm.boots)
        for arm in (comparison.first, comparison.second)
    )
    return msgspec.structs.replace(comparison, first=first, second=second)


def going_together(table: Table, factor: str, columns: Sequence[str]) -> list[str]:
    """Return those of the columns that change exactly where a factor with two settings does."""
    kinds = _kinds(table, factor)
    together = []
    for column in columns:
        pairs = {(row[factor], row[column]) for row in table.factors}
        if column != factor and len(pairs) == 2 and len({value for _, value in pairs}) == 2:
            together.append(column)
    return together if len(kinds) == 2 else []


def aliased_columns(table: Table, by: str) -> str | None:
    """Say which other columns of a table go together with the one that it is compared by."""
    counts = [sum(row[by] == kind for row in table.factors) for kind in _kinds(table, by)]
    if len(counts) != 2 or min(counts) < _FEWEST_ROWS:
        return None
    columns = going_together(table, by, list(table.factors[0]))
    if not columns:
        return None
    names = names_text([column[:60] for column in columns[:_MOST_NAMED]])
    verb = "goes" if len(columns) == 1 else "go"
    return (
        f"{names} {verb} together with {by} in all rows: what is found may be the effect of "
        f"{'either' if len(columns) == 1 else 'any of them'}, and cannot be separated"
    )


def _inseparable(
    table: Table, factor: str, factors: Sequence[str], question: Question
) -> Comparison:
    """Return the comparison by a factor that never changes alone: it has no verdict."""
    kinds = _kinds(table, factor)
    counts = [sum(row[factor] == kind for row in table.factors) for kind in kinds]
    together = going_together(table, factor, factors)
    if together:
        sets = [
            f"all {count} rows with {factor} {kind} have "
            + " and ".join(
                f"{other} {_value_beside(table, factor, kind, other)}" for other in together
            )
            for kind, count in zip(kinds, counts, strict=True)
        ]
        why = f"{names_text([factor, *together])} cannot be separated: {', and '.join(sets)}"
    else:
        others = names_text([other for other in factors if other != factor])
        why = (
            f"the effect of {factor} cannot be separated from those of {others}: no two rows "
            f"differ in {factor} alone"
        )
    return Comparison(
        first=ArmFigures(f"{factor} {kinds[0]}", counts[0], None),
        second=ArmFigures(f"{factor} {kinds[1]}", counts[1], None),
        unit=question.unit,
        verdict="no verdict",
        why=f"{why}; measure rows in which one of them changes and the others stay",
        scope="unknown",
        statistics=[],
    )


def _value_beside(table: Table, factor: str, kind: str, other: str) -> str:
    return next(row[other] for row in table.factors if row[factor] == kind)
