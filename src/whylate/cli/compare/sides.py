"""The sides of a comparison, as the command line names them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.parameter_types import Parsed

if TYPE_CHECKING:
    from whylate.compare.hits import HitDemand
    from whylate.compare.model import Comparison, Question
    from whylate.compare.runs import Arm
    from whylate.compare.sources import Source
    from whylate.recording.imported.numbers import Table

_COLON = ":"
_MARGIN = re.compile(r"(.{1,60}):(\d{1,3}(?:\.\d{1,3})?)\s*%")
#: A side with more recordings is refused.
MAX_RUNS = 1000


@dataclass(frozen=True)
class Compared:
    """What was compared. arms: the sides, if their runs are known one by one."""

    comparisons: Sequence[Comparison]
    arms: Sequence[Arm] = ()


@dataclass(frozen=True)
class Numbers:
    """Which numbers of files are compared, and what is known about them."""

    column: str | None
    #: Both sides are in one file: its rows by their value in this column.
    by: str | None
    #: Columns, and the patterns that their cells match.
    where: Sequence[tuple[str, str]]
    #: Columns in which the two rows of a pair agree, with commas.
    pair: str | None
    #: The column that tells of which run a row is, where a run has a row for each pair.
    run: str | None
    independent: bool

    def fit(self, paths: Sequence[Path]) -> bool:
        """Whether nothing is stated that only files of numbers have.

        A column may also be the name of a run in a file, which is found where it is read.
        """
        from whylate.compare.sources import is_file

        column = self.column is None or all(is_file(path) for path in paths)
        return column and not self.where and not self.independent

    def rows_of(self, table: Table) -> Table:
        """Return the rows that match --where."""
        for column, pattern in self.where:
            table = table.where(column, pattern)
        return table


def _parse_margin(text: str) -> tuple[str, float]:
    match = _MARGIN.fullmatch(text.strip())
    if match is None or not float(match[2]):
        raise ValueError(f"{text!r} is no margin: write it like p50:10%")
    return match[1], 1 + float(match[2]) / 100


def _parse_where(text: str) -> tuple[str, str]:
    column, equals, pattern = text.partition("=")
    if not column or not equals or not pattern:
        raise ValueError(f"{text!r}: write it like machine=EC2*")
    return column, pattern


def _parse_hits(text: str) -> HitDemand:
    from whylate.compare.hits import parse_demand

    return parse_demand(text)


#: What must be hit, and where: NAME, NAME in B, NAME only in B.
HITS = Parsed("name in side", _parse_hits)
#: A statistic and the ratio within which it is the same: p50:10% is p50 and 1.1.
MARGIN = Parsed("statistic:margin", _parse_margin)
#: A column and the pattern that its cells match: statistic=run *.
WHERE = Parsed("column=text", _parse_where)


def compare_sides(
    words: Sequence[str], question: Question, numbers: Numbers, baseline: str | None
) -> Compared:
    """Compare the sides that the command line names.

    Raises click.UsageError, RecordingError and UnequalError.
    """
    from whylate.compare.baseline import load
    from whylate.compare.number_sides import compare_tables
    from whylate.compare.sources import is_file

    paths = [Path(word) for word in words if word != _COLON]
    of_numbers = numbers.by is not None or (len(paths) == 1 and is_file(paths[0]))
    if of_numbers and (question.hits or question.studied):
        raise click.UsageError("--hits and --studied are for recordings: numbers have no facts")
    if numbers.by is not None and baseline is not None:
        raise click.UsageError("--by reads both sides from one file, and --baseline is another")
    if numbers.by is not None:
        return Compared(_compare_groups(paths, question, numbers.by, numbers))
    if numbers.pair is not None or numbers.run is not None:
        raise click.UsageError("--pair and --run are of the rows of one file: use them with --by")
    alone = len(paths) == 1 and is_file(paths[0])
    if alone and (boxes := _compare_boxes(paths[0], question)):
        return Compared(boxes)
    sides = _cut_sides(words) if baseline is None else [[str(path) for path in paths]]
    sources = _read_sides(sides, numbers, question.unit)
    every = [source for side in sources for source in side]
    tables = [source for source in every if source.table is not None]
    if tables and (len(tables) < len(every) or baseline is not None):
        raise click.UsageError("latencies and files of numbers cannot be compared")
    if tables and (question.hits or question.studied):
        raise click.UsageError("--hits and --studied are for recordings: numbers have no facts")
    if tables:
        question = replace(question, unit=_common_unit(tables, question.unit))
        first, *rest = (
            [source.table for source in side if source.table is not None] for side in sources
        )
        return Compared(
            [
                compare_tables(first, side, question, independent=numbers.independent)
                for side in rest
            ]
        )
    unit = bool(question.unit) and not _unitless(every)
    if not numbers.fit(paths) or question.higher_is_better or unit:
        raise click.UsageError(
            "--column, --where, --independent, --higher-is-better and --unit are for files of "
            "numbers"
        )
    arms = [_arm(side, read) for side, read in zip(sides, sources, strict=True)]
    compared = _compare_arms(arms if baseline is None else [load(baseline), *arms], question)
    return _mark_interim_looks(compared, paths, question)


def compare_stages(
    words: Sequence[str], question: Question, numbers: Numbers, baseline: str | None
) -> Compared:
    """Compare two soaks by boot stage; raises click.UsageError, RecordingError and UnequalError."""
    from whylate.soak.stage_comparison import compare_boot_stages

    of_numbers = numbers != Numbers(None, None, (), None, None, False) or question.unit
    if of_numbers or question.higher_is_better or baseline is not None or question.hits:
        raise click.UsageError(
            "--boot-stages compares soaks: only --accept, --same and the output are stated with it"
        )
    if question.studied or _COLON in words:
        raise click.UsageError("--boot-stages A B: one soak a side, without --studied")
    return Compared([compare_boot_stages([Path(word) for word in words], question)])


def _unitless(sources: Sequence[Source]) -> bool:
    """Whether all latencies are of histograms that are tables, which may lack their unit."""
    from whylate.recording.imported.tools import histogram_table

    tools = {run.sets.get("tool") for source in sources for run in source.runs}
    return tools == {histogram_table.TOOL}


def _mark_interim_looks(compared: Compared, paths: Sequence[Path], question: Question) -> Compared:
    """Return comparisons without a verdict if their runs are of an unfinished study."""
    from whylate.study.mark import study_above

    study = study_above(paths)
    if study is None:
        return compared
    # Imported only here: few runs are of a study.
    from whylate.study.results.interim_looks import allow_interim_look

    comparisons = [
        allow_interim_look(comparison, study, accept=question.accept)
        for comparison in compared.comparisons
    ]
    return replace(compared, comparisons=comparisons)


def _compare_arms(arms: Sequence[Arm], question: Question) -> Compared:
    """Compare the first side with each of the others; raises UnequalError."""
    from whylate.compare.cautions import check_equal
    from whylate.compare.judge import compare
    from whylate.compare.runs import AVERAGE, LARGEST
    from whylate.stats.comparison.run_statistics import MAY_BE_SAME, STATISTICS

    check_equal([run for arm in arms for run in arm.runs])
    asked = replace(question, unit="ns")
    may_be_same: Sequence[str] = MAY_BE_SAME
    if arms[0].runs[0].sets.get("latencies") == "no":
        # Quantiles that the tool printed, where all runs have them.
        runs = [run for arm in arms for run in arm.runs]
        printed = [
            statistic
            for statistic in STATISTICS
            if statistic.q is not None and all(statistic.name in run.values for run in runs)
        ]
        asked = replace(asked, statistics=(*printed, AVERAGE, LARGEST))
        may_be_same = (*(statistic.name for statistic in printed), AVERAGE.name)
    if arms[0].runs[0].by_points:
        may_be_same = [statistic.name for statistic in arms[0].runs[0].statistics]
    for name in question.margins:
        if name not in may_be_same:
            raise click.UsageError(
                f"--same takes {', '.join(may_be_same)}: {name!r} is never shown to be the same"
            )
    return Compared([compare(arms[0], other, asked) for other in arms[1:]], arms)


def _cut_sides(words: Sequence[str]) -> list[Sequence[str]]:
    """Cut the words at the colon; without one, each is a side."""
    if _COLON not in words:
        if len(words) < 2:
            raise click.UsageError("name two sides to compare: A B")
        return [[word] for word in words]
    cut = list(words).index(_COLON)
    sides = [words[:cut], words[cut + 1 :]]
    if not all(sides) or _COLON in sides[1]:
        raise click.UsageError("write one colon, with runs on either side: A1 A2 : B1 B2")
    return sides


def _read_sides(sides: Sequence[Sequence[str]], numbers: Numbers, unit: str) -> list[list[Source]]:
    """Read what each side names."""
    from whylate.compare.sources import check_there, is_own, read_source, recordings_in

    def read(path: Path) -> Source:
        source = read_source(path, numbers.column, unit)
        table = source.table
        return source if table is None else replace(source, table=numbers.rows_of(table))

    paths = [[path for word in side for path in recordings_in(Path(word))] for side in sides]
    for side, recordings in zip(sides, paths, strict=True):
        if len(recordings) > MAX_RUNS:
            raise click.UsageError(f"{side[0]}: a side has at most {MAX_RUNS} recordings")
    every = [path for side in paths for path in side]
    check_there(every)
    if len({is_own(path) for path in every}) > 1:
        raise click.UsageError(
            "recordings of whylate and results of other tools cannot be compared"
        )
    return [[read(path) for path in side] for side in paths]


def _arm(words: Sequence[str], sources: Sequence[Source]) -> Arm:
    from whylate.compare.runs import Arm

    name = " … ".join(dict.fromkeys((Path(words[0]).name, Path(words[-1]).name)))
    return Arm(name, tuple(run for source in sources for run in source.runs))


def _common_unit(sources: Sequence[Source], stated: str) -> str:
    """Return the unit of all numbers: as stated, or as they were imported."""
    units = list(dict.fromkeys(source.unit for source in sources))
    known = [unit for unit in units if unit]
    if stated or not known:
        return stated
    if len(known) > 1:
        raise click.UsageError(f"values in {known[0]} and in {known[1]} cannot be compared")
    if "" in units:
        raise click.UsageError(
            f"some values are in {known[0]}, others have no unit: if it is the same, say "
            f"--unit {known[0]}"
        )
    return known[0]


def _compare_boxes(path: Path, question: Question) -> list[Comparison]:
    """Compare the sides of a box that ministat printed; empty if the file has none."""
    from whylate.compare.number_sides import compare_moments
    from whylate.recording.imported.ministat import read_boxes
    from whylate.stats.comparison.student import Moments

    moments = [Moments(box.n, box.mean, box.sd) for box in read_boxes(path)]
    if moments and question.margins:
        raise click.UsageError("--same needs the values themselves, and a box has none")
    names = [f"{path.name} ({number})" for number in range(1, len(moments) + 1)]
    return [
        compare_moments(moments[0], side, (names[0], name), question)
        for side, name in zip(moments[1:], names[1:], strict=True)
    ]


def _compare_groups(
    paths: Sequence[Path], question: Question, by: str, numbers: Numbers
) -> list[Comparison]:
    """Compare groups of rows of one file; by: a column, or several with commas between them."""
    import msgspec

    from whylate.compare.number_sides import compare_groups
    from whylate.compare.sources import is_file
    from whylate.compare.together import aliased_columns, compare_by_factors
    from whylate.recording.imported.numbers import read_table

    if len(paths) != 1 or not is_file(paths[0]):
        raise click.UsageError("--by reads its two sides from one file: name that alone")
    if numbers.column is None:
        raise click.UsageError("--by needs --column: which column is compared")
    pairs = [name for name in (numbers.pair or "").split(",") if name]
    if numbers.run is not None and not pairs:
        raise click.UsageError("--run needs --pair: which rows of two runs belong together")
    table = numbers.rows_of(read_table(paths[0], numbers.column))
    is_column = bool(table.factors) and by in table.factors[0]
    factors = [name.strip() for name in by.split(",") if name.strip()]
    if not is_column and len(factors) > 1:
        return compare_by_factors(
            table, factors, pairs, question, independent=numbers.independent, run=numbers.run
        )
    comparison = compare_groups(
        table, by, pairs, question, independent=numbers.independent, run=numbers.run
    )
    text = aliased_columns(table, by)
    if text is not None:
        comparison = msgspec.structs.replace(comparison, cautions=[*comparison.cautions, text])
    return [comparison]
