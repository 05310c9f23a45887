"""Marks: rows at two places of one execution, whose counters are running totals.

Which tables have them, in this order:

1. A column that names the execution (`execution`, `id`) has each of its values in two rows: marks,
   whatever their places are called.
2. The places are two offsets of one symbol (`do_local_timer+0x40`, `do_local_timer+0x80`), or the
   two ends of something (start and end, entry and exit, ...): marks, each with the row below it.
3. Else each row is an execution, and its place a label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.recording.imported.executions.model import COUNTERS, Column, Executions
from whylate.recording.imported.model import InputError
from whylate.recording.imported.rows import short

Rows = NDArray[np.int64]

_OFFSET = re.compile(r"(?P<symbol>.+)\+(?:0x)?[0-9a-fA-F]+(?:/(?:0x)?[0-9a-fA-F]+)?")
_ENDS = (("start", "end"), ("start", "stop"), ("begin", "end"), ("entry", "exit"),
         ("enter", "exit"), ("entry", "return"), ("enter", "leave"), ("in", "out"))  # fmt: skip


@dataclass(frozen=True)
class Marks:
    """Pairs of rows. first, second: the places, "": not known, or not the same in each pair.

    first_rows, second_rows: int64, shape (pairs,), rows counted from 0, in the order of the file.
    """

    first: str
    second: str
    first_rows: Rows
    second_rows: Rows


def pair_marks(source: str, executions: Executions) -> Marks | None:
    """Return the pairs of marks; None where each row is an execution.

    source: the file, for messages. Raises InputError for a mark without its pair, and where a
    counter or a time falls within a pair.
    """
    marks = _by_execution(source, executions) or _by_place(source, executions)
    if marks is not None:
        for column in executions.having((*COUNTERS, "duration", "time")):
            _check_rising(source, executions, marks, column)
    return marks


def _by_execution(source: str, executions: Executions) -> Marks | None:
    named = executions.first("execution")
    if named is None:
        return None
    codes = executions.texts[named.name].codes
    counts = np.bincount(codes)
    if (counts == 1).all():
        return None
    wrong = np.flatnonzero(counts != 2)
    if wrong.size:
        row = int(np.flatnonzero(codes == wrong[0])[0])
        raise InputError(
            f"{source}, {executions.row_text(row)}: {short(named.name)} has this value in "
            f"{counts[wrong[0]]} of the rows: one row is an execution, two are its marks, in all "
            "of a table"
        )
    order = np.argsort(codes, kind="stable")
    firsts, seconds = order[::2], order[1::2]
    by_file = np.argsort(firsts)
    firsts, seconds = firsts[by_file], seconds[by_file]
    return Marks(*_common_places(executions, firsts, seconds), firsts, seconds)


def _common_places(executions: Executions, firsts: Rows, seconds: Rows) -> tuple[str, str]:
    place = executions.first("place")
    if place is None:
        return "", ""
    texts = executions.texts[place.name]
    ends = [np.unique(texts.codes[rows]) for rows in (firsts, seconds)]
    first, second = (texts.names[int(end[0])] if end.size == 1 else "" for end in ends)
    return first, second


def _by_place(source: str, executions: Executions) -> Marks | None:
    place = executions.first("place")
    if place is None:
        return None
    texts = executions.texts[place.name]
    if not _are_marks(texts.names):
        return None
    codes = texts.codes
    # The first row begins the first execution.
    first, second = texts.names
    expected = np.arange(codes.size) % 2
    wrong = np.flatnonzero(codes != expected)
    if wrong.size or codes.size % 2:
        row = int(wrong[0]) if wrong.size else codes.size - 1
        raise InputError(
            f"{source}, {executions.row_text(row)}: a mark at {short(texts.names[codes[row]])} "
            f"without its pair: marks come in pairs of rows, {short(first)} and {short(second)}; "
            "where the rows of several executions are mixed, name them in a column `execution`"
        )
    rows = np.arange(0, codes.size, 2)
    return Marks(first, second, rows, rows + 1)


def _are_marks(names: Sequence[str]) -> bool:
    """Whether two places are those of one execution, by their names."""
    if len(names) != 2:
        return False
    offsets = [_OFFSET.fullmatch(name) for name in names]
    if all(offsets):
        first, second = (match["symbol"] for match in offsets if match is not None)
        return first == second
    pair = tuple(name.lower() for name in names)
    return pair in _ENDS


def _check_rising(source: str, executions: Executions, marks: Marks, column: Column) -> None:
    values = executions.numbers[column.name]
    falling = np.flatnonzero(values[marks.second_rows] < values[marks.first_rows])
    if not falling.size:
        return
    first, second = (int(rows[falling[0]]) for rows in (marks.first_rows, marks.second_rows))
    way = (
        "they are running totals; if each row is an execution, give its place a name without offset"
        if column.role in COUNTERS
        else "the second comes later"
    )
    raise InputError(
        f"{source}, {executions.row_text(second)}: {short(column.name)} falls from "
        f"{values[first]:.17g} to {values[second]:.17g} between the marks of an execution: {way}"
    )
