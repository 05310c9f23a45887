"""Sides of a comparison from files of numbers, and what is asked of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from whylate.compare.judge import compare
from whylate.compare.model import ArmFigures, Comparison, Question, Verdict
from whylate.compare.runs import Arm, Run, twice_there
from whylate.compare.runs_of_rows import compare_runs_of_rows
from whylate.compare.words import amount_text
from whylate.recording.imported.model import InputError
from whylate.recording.imported.numbers import Table
from whylate.stats.comparison.run_statistics import Statistic, exact_value
from whylate.stats.comparison.student import Moments, moments, student_interval
from whylate.text import shown

#: A column of maxima has this in its name: one maximum compares nothing.
_MAXIMUM = "max"
_FEWEST_MAXIMA = 6
#: So many different values in the same order are a copy.
_NO_CHANCE = 5
#: The longest name of a column.
_SHOWN = 200


def compare_tables(
    first: Sequence[Table], second: Sequence[Table], question: Question, *, independent: bool
) -> Comparison:
    """Compare the values of files; independent: each value is a run of its own, not a boot's.

    The question's statistics are what the files have. Raises InputError for files of unlike
    values.
    """
    name = _common_name([*first, *second])
    tables = [*first, *second]
    for identities in ([str(table.path.resolve()) for table in tables], map(_contents, tables)):
        names = [str(table.path) for table in tables]
        twice = twice_there(list(zip(identities, names, strict=True)))
        if twice is not None:
            raise InputError(twice)
    sides = [_cells(tables, independent=independent) for tables in (first, second)]
    names = [" ".join(str(table.path) for table in tables) for tables in (first, second)]
    return _compare(sides, names, name, question)


def _contents(table: Table) -> str:
    """Return what tells values from others; "" of few, which may come out alike by chance."""
    return repr(table.values) if len(set(table.values)) >= _NO_CHANCE else ""


def _common_name(tables: Sequence[Table]) -> str:
    """Return the name of all values, "" where no file has one; raises InputError."""
    for table in tables:
        if table.tool != tables[0].tool:
            raise InputError(
                f"{tables[0].path} is a file of {tables[0].tool} and {table.path} one of "
                f"{table.tool}: compare files of one tool"
            )
    # As an import keeps it.
    named = [(table.path, shown(table.name, _SHOWN)) for table in tables if table.name]
    for path, name in named:
        if name != named[0][1]:
            raise InputError(
                f"{named[0][0]} has {named[0][1]!r} and {path} has {name!r}: compare columns of "
                "one name"
            )
    return named[0][1] if named else ""


def compare_groups(
    table: Table,
    by: str,
    pair: Sequence[str],
    question: Question,
    *,
    independent: bool,
    run: str | None = None,
) -> Comparison:
    """Compare the rows of one table: those with one value in column `by` with those of the other.

    pair: columns whose values tell which row of one side belongs to which of the other. run: the
    column that tells of which run a row is, where a run has a row for each pair. Raises InputError
    where a column is missing, or there are not just two values.
    """
    for name in (by, *pair, *([run] if run is not None else [])):
        if not table.factors or name not in table.factors[0]:
            raise InputError(
                f"{table.path} has no column {name!r}, or several, beside {table.name!r}"
            )
    kinds = list(dict.fromkeys(row[by] for row in table.factors))
    if len(kinds) != 2:
        raise InputError(f"{by!r} has {len(kinds)} values in {table.path}: two are compared")
    if run is not None:
        return compare_runs_of_rows(table, by, kinds, pair, run, question, independent=independent)
    sides = []
    for kind in kinds:
        chosen = [
            (f"{table.path}:{number}", value, " ".join(factors[name] for name in pair))
            for number, (value, factors) in enumerate(
                zip(table.values, table.factors, strict=True), 1
            )
            if factors[by] == kind
        ]
        if pair and len({cell[2] for cell in chosen}) < len(chosen):
            raise InputError(
                f"{table.path} has several rows of {by} {kind} with the same {', '.join(pair)}: "
                "name more columns with --pair, or with --run the column that tells runs of all "
                "pairs apart"
            )
        sides.append([_Cell(name, value, name if independent or pair else kind, group)
                      for name, value, group in chosen])  # fmt: skip
    return _compare(sides, [f"{by} {kind}" for kind in kinds], table.name, question)


class _Cell(msgspec.Struct, frozen=True):
    """A value with where it stands, the boot it is taken to be from, and its pair."""

    name: str
    value: float
    boot: str
    pair: str = ""


def _cells(tables: Sequence[Table], *, independent: bool) -> list[_Cell]:
    return [
        _Cell(name := f"{table.path}:{number}", value, name if independent else str(table.path))
        for table in tables
        for number, value in enumerate(table.values, 1)
    ]


def _compare(
    sides: Sequence[Sequence[_Cell]], names: Sequence[str], column: str, question: Question
) -> Comparison:
    linear = any(cell.value <= 0 for side in sides for cell in side)
    compared: Callable[[float], float] = float if linear else math.log
    name = column or "value"
    statistic = Statistic(name, least_runs=_FEWEST_MAXIMA if _MAXIMUM in name.lower() else 1)
    arms = [
        Arm(
            title,
            tuple(
                Run(cell.name, {name: exact_value(compared(cell.value))}, 1,
                    boot=cell.boot, pair=cell.pair)
                for cell in side
            ),
        )
        for title, side in zip(names, sides, strict=True)
    ]  # fmt: skip
    _check_margins(question, name)
    asked = replace(question, statistics=(statistic,), linear=linear)
    comparison = compare(arms[0], arms[1], asked)
    values = [[cell.value for cell in side] for side in sides]
    refused = comparison.statistics[0].ratio is None
    return msgspec.structs.replace(
        comparison,
        student=None
        if refused or comparison.paired or min(map(len, values)) < 2
        else student_interval(moments(values[0]), moments(values[1])),
        pairs=[] if refused else _pairs(sides),
    )


def _check_margins(question: Question, name: str) -> None:
    """Raise InputError for a margin for what is not compared, or never is the same."""
    for stated in question.margins:
        if stated != name:
            raise InputError(f"--same {stated}: what is compared is called {name!r}")
        if _MAXIMUM in name.lower():
            raise InputError(f"--same {stated}: two maxima are never shown to be the same")


def _pairs(sides: Sequence[Sequence[_Cell]]) -> list[tuple[str, float, float]]:
    """Return what stands in pairs: what they have in common, and both values."""
    theirs = {cell.pair: cell.value for cell in sides[1] if cell.pair}
    return [
        (cell.pair, cell.value, theirs[cell.pair])
        for cell in sides[0]
        if cell.pair and cell.pair in theirs
    ]


def compare_moments(
    first: Moments, second: Moments, names: Sequence[str], question: Question
) -> Comparison:
    """Compare what is left of values of which ministat kept a summary: by Student's t alone.

    Neither their order nor the boots they are from are known, nor whether they are normal: there
    is no verdict; the reason has what the interval shows.
    """
    student = student_interval(first, second)
    higher = student.difference > 0
    within: Verdict = "inconclusive"
    if abs(student.difference) > student.half_width:
        within = "better" if higher == question.higher_is_better else "worse"
    unit = question.unit
    change = (
        f"the mean of B is {amount_text(abs(student.difference), unit)} "
        f"{'higher' if higher else 'lower'}; "
    )
    return Comparison(
        first=ArmFigures(names[0], first.n, None),
        second=ArmFigures(names[1], second.n, None),
        unit=unit,
        verdict="no verdict",
        why=f"{change}a summary shows neither its distribution nor how the values were measured",
        scope="unknown",
        statistics=[],
        within=within,
        student=student,
    )
