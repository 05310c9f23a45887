"""Read a table of executions: a heading that names counters, and a row for each execution or mark.

Between its cells are commas, semicolons or tabs; blanks, if every heading is one that is read. A
cell of a column that is read is a number as a file of numbers has it, or the table is refused: a
counter that was not counted is not 0.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from whylate.recording.imported.executions.headings import name_columns
from whylate.recording.imported.executions.marks import pair_marks
from whylate.recording.imported.executions.model import (
    MOST_COLUMNS,
    MOST_PLACES,
    MOST_TEXT,
    TEXTS,
    Column,
    Executions,
    Texts,
    find_problem,
)
from whylate.recording.imported.model import InputError
from whylate.recording.imported.rows import (
    MOST_VALUES,
    bare_lines,
    count_text,
    find_separator,
    is_like_number,
    list_text,
    no_number,
    number,
    short,
    split_cells,
)
from whylate.text import is_number, shown

_MULTIPLEXED = "whether counters were multiplexed: a table does not show it"
#: How JSON and XML begin, which may have commas.
_MARKUP = ("{", "[", "<")
#: What is kept of a list of columns that are not read.
_SHOWN = 200


@dataclass
class _Numbers:
    """A column of numbers while it is read."""

    at: int
    column: Column
    values: array[float] = field(default_factory=lambda: array("d"))


@dataclass
class _Texts:
    """A column of texts while it is read. codes: by its text."""

    at: int
    column: Column
    codes: dict[str, int] = field(default_factory=dict)
    values: array[int] = field(default_factory=lambda: array("q"))


def read_executions(path: Path, unit: str = "") -> Executions | None:
    """Read a table of executions; None where the file is another.

    unit: of a duration or time whose heading has none. Raises InputError for a table that is
    damaged, or is of marks that have no pair.
    """
    heading = _heading(path)
    if heading is None:
        return None
    line, cells, between = heading
    columns = name_columns(cells)
    if columns is None or (between is None and None in columns):
        return None
    rows = _rows(path, line, between)
    if between is None:
        # Words between blanks may be those of a sentence.
        first = next(rows, None)
        if first is None or len(first[1]) != len(cells):
            return None
        rows = _with_first(first, rows)
    read = [column for column in columns if column is not None]
    _check_headings(path, line, read)
    executions = _collect(path, (line, len(cells)), columns, rows)
    ignored = [text for text, column in zip(cells, columns, strict=True) if column is None and text]
    return _finished(path, executions, ignored, unit)


def _heading(path: Path) -> tuple[int, list[str], str | None] | None:
    """Return the line, the cells and the separator of a heading; None: the file has none."""
    try:
        line, text = next(bare_lines(path), (0, ""))
    except InputError:
        # Whoever reads the file as another names what is wrong.
        return None
    between = find_separator(text)
    cells = split_cells(text, between)
    if len(cells) < 2 or any(is_like_number(cell) for cell in cells):
        return None
    if text.lstrip().startswith(_MARKUP):
        return None
    return line, cells, between


def _with_first(
    first: tuple[int, list[str]], rows: Iterator[tuple[int, list[str]]]
) -> Iterator[tuple[int, list[str]]]:
    yield first
    yield from rows


def _rows(path: Path, heading: int, between: str | None) -> Iterator[tuple[int, list[str]]]:
    for count, (line, text) in enumerate(bare_lines(path)):
        if count > MOST_VALUES:
            raise InputError(f"{path} has more than {MOST_VALUES:,} lines")
        if line > heading:
            yield line, split_cells(text, between)


def _check_headings(path: Path, line: int, columns: Sequence[Column]) -> None:
    names = [column.name for column in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}, line {line}: {names.count(twice)} columns are called "
                         f"{short(twice)}: give each a name of its own")  # fmt: skip
    if len(names) > MOST_COLUMNS:
        raise InputError(f"{path}, line {line} names {len(names)} columns of executions: "
                         f"{MOST_COLUMNS} are the most, leave some out")  # fmt: skip


def _collect(
    path: Path,
    heading: tuple[int, int],
    columns: Sequence[Column | None],
    rows: Iterable[tuple[int, list[str]]],
) -> Executions:
    """Return the rows; heading: its line, and how many cells it has. Raises InputError."""
    named = [(at, column) for at, column in enumerate(columns) if column is not None]
    numbers = [_Numbers(at, column) for at, column in named if column.role not in TEXTS]
    texts = [_Texts(at, column) for at, column in named if column.role in TEXTS]
    lines = array("q")
    for line, cells in rows:
        if len(cells) != heading[1]:
            raise InputError(f"{path}, line {line} has {count_text(cells)}, line {heading[0]} has "
                             f"{heading[1]}: each row takes as many")  # fmt: skip
        lines.append(line)
        for numeric in numbers:
            cell = cells[numeric.at]
            # Most are whole, and float() alone takes what is no number of a table.
            value = float(cell) if is_number(cell) else number(cell)
            if value is None:
                raise _no_counter(path, line, numeric.column, cell)
            numeric.values.append(value)
        for text in texts:
            text.values.append(_code(path, line, text, cells[text.at]))
    if not lines:
        raise InputError(f"{path} has no rows below its heading in line {heading[0]}")
    return Executions(
        tuple(column for _, column in named),
        {numeric.column.name: np.array(numeric.values, np.float64) for numeric in numbers},
        {text.column.name: Texts(tuple(text.codes), np.array(text.values, np.int64))
         for text in texts},
        np.array(lines, np.int64),
    )  # fmt: skip


def _no_counter(path: Path, line: int, column: Column, cell: str) -> InputError:
    if not cell:
        return InputError(f"{path}, line {line}: {short(column.name)} is empty: leave the row out, "
                          "or the column")  # fmt: skip
    return InputError(f"{no_number(path, line, cell)} ({short(column.name)})")


def _code(path: Path, line: int, texts: _Texts, cell: str) -> int:
    """Return the number of a text in its column; raises InputError."""
    if len(cell) > MOST_TEXT:
        raise InputError(f"{path}, line {line}: {short(texts.column.name)} has {len(cell):,} "
                         f"characters; {MOST_TEXT} are the most")  # fmt: skip
    code = texts.codes.setdefault(shown(cell, MOST_TEXT), len(texts.codes))
    if code >= MOST_PLACES and texts.column.role == "place":
        raise InputError(f"{path}, line {line}: {short(texts.column.name)} has more than "
                         f"{MOST_PLACES:,} different places")  # fmt: skip
    return code


def _finished(path: Path, executions: Executions, ignored: Sequence[str], unit: str) -> Executions:
    """Return executions with their units and what they lack; raises InputError."""
    timed = [column for column in executions.columns if column.role in ("duration", "time")]
    if unit and not any(not column.unit for column in timed):
        raise InputError(f"--unit is of a duration or time whose heading has none: {path} has no "
                         "such column")  # fmt: skip
    columns = tuple(
        Column(
            column.name, column.role, column.unit or (shown(unit, 20) if column in timed else "")
        )
        for column in executions.columns
    )
    lacks: tuple[str, ...] = (_MULTIPLEXED,)
    if ignored:
        what = shown(list_text(ignored), _SHOWN)
        lacks += (f"columns whose headings name no counter, duration, time or place: {what}",)
    finished = Executions(columns, executions.numbers, executions.texts, executions.lines, lacks)
    for column in columns:
        if column.role in TEXTS:
            continue
        values = executions.numbers[column.name]
        problem = find_problem(column, values)
        if problem is not None:
            row, what = problem
            raise InputError(f"{path}, {executions.row_text(row)}: {short(column.name)} "
                             f"{values[row]:.17g} {what}")  # fmt: skip
    # Marks without a pair are refused here, where the lines of the file are known.
    pair_marks(str(path), finished)
    return finished
