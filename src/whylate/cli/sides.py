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


def comparisons_of(
    words: Sequence[str],
    question: Question,
    *,
    column: str | None,
    by: str | None,
    pair: str | None,
    independent: bool,
    baseline: str | None,
) -> Compared:
    """Compare what stands on the command line.

    Raises click.UsageError, RecordingError, UnequalError and NumbersError.
    """
    paths = [Path(word) for word in words if word != _BETWEEN]
    files = [path for path in paths if path.is_file()]
    if by is not None:
        return Compared([_groups(words, question, column, by, pair, independent=independent)])
    if pair is not None:
        raise click.UsageError("--pair says which rows belong together: it goes with --by")
    if len(files) == 1 == len(paths) and (summaries := _summary(files[0], question)):
        return Compared(summaries)
    if baseline is not None:
        return _with_baseline(baseline, words, question)
    sides = _sides(words)
    if files and len(files) < len(paths):
        raise click.UsageError("recordings and files of numbers cannot be compared")
    if files and (arms := _foreign(sides)):
        return _compare_foreign(arms, question)
    if files:
        return Compared(
            [
                _numbers(sides[0], side, question, column, independent=independent)
                for side in sides[1:]
            ]
        )
    if column is not None or independent or question.higher_is_better or question.unit:
        raise click.UsageError(
            "--column, --independent, --higher-is-better and --unit are for files of numbers"
        )
    return _recordings(sides, question)


def _with_baseline(name: str, words: Sequence[str], question: Question) -> Compared:
    from whylate.compare.baseline import load

    return _arms([load(name), _arm([word for word in words if word != _BETWEEN])], question)


def _arms(arms: Sequence[Arm], question: Question) -> Compared:
    """Compare the first side with each of the others; raises UnequalError."""
    from whylate.compare.cautions import check_equal
    from whylate.compare.judge import compare

    check_equal([run for arm in arms for run in arm.runs])
    asked = replace(question, unit="ns")
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


def _foreign(sides: Sequence[Sequence[str]]) -> list[Arm]:
    """Return sides of files of other tools; none where not all are."""
    from whylate.compare.runs import Arm, foreign_runs

    runs = [[foreign_runs(Path(word)) for word in side] for side in sides]
    if not all(found for side in runs for found in side):
        return []
    return [
        Arm(_name(side), tuple(run for found in files for run in found))
        for side, files in zip(sides, runs, strict=True)
    ]


def _compare_foreign(arms: Sequence[Arm], question: Question) -> Compared:
    from whylate.compare.runs import AVERAGE, LARGEST

    if arms[0].runs[0].sets["latencies"] == "no":
        question = replace(question, statistics=(AVERAGE, LARGEST))
    return _arms(arms, question)


def _recordings(sides: Sequence[Sequence[str]], question: Question) -> Compared:
    from whylate.stats.run_statistics import MAY_BE_SAME

    for name in question.margins:
        if name not in MAY_BE_SAME:
            raise click.UsageError(
                f"--same takes {', '.join(MAY_BE_SAME)}: {name!r} is never shown to be the same"
            )
    return _arms([_arm(side) for side in sides], question)


def _arm(words: Sequence[str]) -> Arm:
    from whylate.compare.runs import Arm, read_run

    found = [one for word in words for one in recordings_in(Path(word))]
    if len(found) > _MOST_RUNS:
        raise click.UsageError(f"{words[0]}: more than {_MOST_RUNS} recordings are no side")
    return Arm(_name(words), tuple(read_run(one) for one in found))


def _name(words: Sequence[str]) -> str:
    return " … ".join(dict.fromkeys((Path(words[0]).name, Path(words[-1]).name)))


def recordings_in(path: Path) -> list[Path]:
    """Return a recording, or the recordings in a directory of them."""
    marks = ("manifest.json", "journal")
    if not path.is_dir() or any((path / mark).exists() for mark in marks):
        return [path]
    inside = sorted(one for one in path.iterdir() if one.is_dir())
    return [one for one in inside if any((one / mark).exists() for mark in marks)] or [path]


def _summary(path: Path, question: Question) -> list[Comparison]:
    """Compare the sides of a box that ministat printed; none where the file is none."""
    from whylate.compare.number_sides import compare_moments
    from whylate.compare.numbers import read_moments

    found = read_moments(path)
    if found is None:
        return []
    first, *others = found
    names = [f"{path.name} ({number})" for number in range(1, len(others) + 2)]
    return [
        compare_moments(first, other, (names[0], name), question)
        for other, name in zip(others, names[1:], strict=True)
    ]


def _numbers(
    first: Sequence[str],
    second: Sequence[str],
    question: Question,
    column: str | None,
    *,
    independent: bool,
) -> Comparison:
    from whylate.compare.number_sides import compare_tables
    from whylate.compare.numbers import read_table

    ours, theirs = ([read_table(Path(word), column) for word in side] for side in (first, second))
    return compare_tables(ours, theirs, question, independent=independent)


def _groups(
    words: Sequence[str],
    question: Question,
    column: str | None,
    by: str,
    pair: str | None,
    *,
    independent: bool,
) -> Comparison:
    from whylate.compare.number_sides import compare_groups
    from whylate.compare.numbers import read_table

    if len(words) != 1:
        raise click.UsageError("--by takes its two sides from one file: name that alone")
    if column is None:
        raise click.UsageError("--by needs --column: which column is compared")
    table = read_table(Path(words[0]), column)
    together = [name for name in (pair or "").split(",") if name]
    return compare_groups(table, by, together, question, independent=independent)
