"""The two sides of a comparison, as they stand on the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from whylate.compare.model import Comparison
    from whylate.compare.question import Question
    from whylate.compare.runs import Arm
    from whylate.compare.sources import Source
    from whylate.recording.imported.numbers import Table

_BETWEEN = ":"
_MARGIN = re.compile(r"(.{1,60}):(\d{1,3}(?:\.\d{1,3})?)\s*%")
#: More recordings than this are no side of a comparison.
_MOST_RUNS = 1000


@dataclass(frozen=True)
class Compared:
    """What was compared. arms: the sides, where their runs are known one by one."""

    found: Sequence[Comparison]
    arms: Sequence[Arm] = ()


class Margin(click.ParamType[tuple[str, float]]):
    """A statistic and how far apart two values of it are called the same: p50:10%."""

    name = "statistic:margin"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """Return the statistic's name and the factor, 1.1 for 10 %."""
        match = _MARGIN.fullmatch(str(value).strip())
        if match is None or not float(match[2]):
            self.fail(f"{value!r} is no margin: write it like p50:10%", param, ctx)
        return match[1], 1 + float(match[2]) / 100


class Where(click.ParamType[tuple[str, str]]):
    """A column and what its cells have to match: statistic=run *."""

    name = "column=text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return the column's heading and the pattern."""
        column, equals, pattern = str(value).partition("=")
        if not column or not equals or not pattern:
            self.fail(f"{value!r}: write it like machine=EC2*", param, ctx)
        return column, pattern


def comparisons_of(
    words: Sequence[str],
    question: Question,
    *,
    column: str | None,
    by: str | None,
    where: Sequence[tuple[str, str]],
    pair: str | None,
    independent: bool,
    baseline: str | None,
) -> Compared:
    """Compare what stands on the command line.

    Raises click.UsageError, RecordingError and UnequalError.
    """
    from whylate.compare.sources import is_file

    paths = [Path(word) for word in words if word != _BETWEEN]
    if by is not None and baseline is not None:
        raise click.UsageError("--by takes both sides from one file, and --baseline is another")
    if by is not None:
        table = _table(words, column, where)
        return Compared([_groups(table, question, by, pair, independent=independent)])
    if pair is not None:
        raise click.UsageError("--pair says which rows belong together: it goes with --by")
    alone = len(paths) == 1 and is_file(paths[0])
    if alone and (summaries := _summary(paths[0], question)):
        return Compared(summaries)
    sides = _sides(words) if baseline is None else [[w for w in words if w != _BETWEEN]]
    read = _read(sides, column, where)
    sources = [one for side in read for one in side]
    tables = [one for one in sources if one.table is not None]
    if tables and (len(tables) < len(sources) or baseline is not None):
        raise click.UsageError("latencies and files of numbers cannot be compared")
    if tables:
        asked = replace(question, unit=_unit(tables, question.unit))
        ours, *others = ([one.table for one in side if one.table is not None] for side in read)
        return Compared([_numbers(ours, one, asked, independent=independent) for one in others])
    if column is not None or where or independent or question.higher_is_better or question.unit:
        raise click.UsageError(
            "--column, --where, --independent, --higher-is-better and --unit are for files of "
            "numbers"
        )
    arms = [_arm(side, found) for side, found in zip(sides, read, strict=True)]
    compared = _arms(arms if baseline is None else [_baseline(baseline), *arms], question)
    return _allow_interim_look(compared, paths, question)


def _allow_interim_look(compared: Compared, paths: Sequence[Path], question: Question) -> Compared:
    """Say of runs of a study that they are, and give them no verdict before it is over."""
    from whylate.study.results.interim_looks import allow_interim_look, study_above

    study = study_above(paths)
    if study is None:
        return compared
    found = [allow_interim_look(one, study, accept=question.accept) for one in compared.found]
    return replace(compared, found=found)


def _baseline(name: str) -> Arm:
    from whylate.compare.baseline import load

    return load(name)


def _arms(arms: Sequence[Arm], question: Question) -> Compared:
    """Compare the first side with each of the others; raises UnequalError."""
    from whylate.compare.cautions import check_equal
    from whylate.compare.judge import compare
    from whylate.compare.runs import AVERAGE, LARGEST
    from whylate.stats.comparison.run_statistics import MAY_BE_SAME

    check_equal([run for arm in arms for run in arm.runs])
    asked = replace(question, unit="ns")
    may_be_same: Sequence[str] = MAY_BE_SAME
    if arms[0].runs[0].sets.get("latencies") == "no":
        asked = replace(asked, statistics=(AVERAGE, LARGEST))
        may_be_same = (AVERAGE.name,)
    if arms[0].runs[0].by_points:
        may_be_same = [one.name for one in arms[0].runs[0].statistics]
    for name in question.margins:
        if name not in may_be_same:
            raise click.UsageError(
                f"--same takes {', '.join(may_be_same)}: {name!r} is never shown to be the same"
            )
    return Compared([compare(arms[0], other, asked) for other in arms[1:]], arms)


def _sides(words: Sequence[str]) -> list[Sequence[str]]:
    if _BETWEEN not in words:
        if len(words) < 2:
            raise click.UsageError("name two sides to compare: A B")
        return [[word] for word in words]
    cut = list(words).index(_BETWEEN)
    sides = [words[:cut], words[cut + 1 :]]
    if not all(sides) or _BETWEEN in sides[1]:
        raise click.UsageError("write one colon, with runs on either side: A1 A2 : B1 B2")
    return sides


def _read(
    sides: Sequence[Sequence[str]], column: str | None, where: Sequence[tuple[str, str]]
) -> list[list[Source]]:
    """Read what stands on each side."""
    from whylate.compare.sources import check_there, is_own, read_source, recordings_in

    places = [[one for word in side for one in recordings_in(Path(word))] for side in sides]
    for side, found in zip(sides, places, strict=True):
        if len(found) > _MOST_RUNS:
            raise click.UsageError(f"{side[0]}: more than {_MOST_RUNS} recordings are no side")
    check_there([one for side in places for one in side])
    if len({is_own(one) for side in places for one in side}) > 1:
        raise click.UsageError(
            "recordings of whylate and results of other tools cannot be compared"
        )
    return [[_where(read_source(one, column), where) for one in side] for side in places]


def _where(source: Source, where: Sequence[tuple[str, str]]) -> Source:
    table = source.table
    if table is None:
        return source
    for column, pattern in where:
        table = table.where(column, pattern)
    return replace(source, table=table)


def _arm(words: Sequence[str], sources: Sequence[Source]) -> Arm:
    from whylate.compare.runs import Arm

    return Arm(_name(words), tuple(run for source in sources for run in source.runs))


def _unit(sources: Sequence[Source], stated: str) -> str:
    """Return what the numbers are: as stated, or as they were imported."""
    units = list(dict.fromkeys(one.unit for one in sources))
    known = [unit for unit in units if unit]
    if stated or not known:
        return stated
    if len(known) > 1:
        raise click.UsageError(f"values in {known[0]} and in {known[1]} cannot be compared")
    if "" in units:
        raise click.UsageError(
            f"some values are in {known[0]}, and of others nothing says what they are in: if that "
            f"is the same, say --unit {known[0]}"
        )
    return known[0]


def _name(words: Sequence[str]) -> str:
    return " … ".join(dict.fromkeys((Path(words[0]).name, Path(words[-1]).name)))


def _summary(path: Path, question: Question) -> list[Comparison]:
    """Compare the sides of a box that ministat printed; none where the file is none."""
    from whylate.compare.number_sides import compare_moments
    from whylate.recording.imported.numbers import read_boxes
    from whylate.stats.comparison.student import Moments

    found = [Moments(box.n, box.mean, box.sd) for box in read_boxes(path)]
    if not found:
        return []
    if question.margins:
        raise click.UsageError("--same takes the values themselves, and a box has none")
    first, *others = found
    names = [f"{path.name} ({number})" for number in range(1, len(others) + 2)]
    return [
        compare_moments(first, other, (names[0], name), question)
        for other, name in zip(others, names[1:], strict=True)
    ]


def _numbers(
    first: Sequence[Table], second: Sequence[Table], question: Question, *, independent: bool
) -> Comparison:
    from whylate.compare.number_sides import compare_tables

    return compare_tables(first, second, question, independent=independent)


def _table(words: Sequence[str], column: str | None, where: Sequence[tuple[str, str]]) -> Table:
    """Read the one file that both sides are in."""
    from whylate.compare.sources import is_file
    from whylate.recording.imported.numbers import read_table

    if len(words) != 1 or not is_file(Path(words[0])):
        raise click.UsageError("--by takes its two sides from one file: name that alone")
    if column is None:
        raise click.UsageError("--by needs --column: which column is compared")
    table = read_table(Path(words[0]), column)
    for name, pattern in where:
        table = table.where(name, pattern)
    return table


def _groups(
    table: Table,
    question: Question,
    by: str,
    pair: str | None,
    *,
    independent: bool,
) -> Comparison:
    from whylate.compare.number_sides import compare_groups

    together = [name for name in (pair or "").split(",") if name]
    return compare_groups(table, by, together, question, independent=independent)
