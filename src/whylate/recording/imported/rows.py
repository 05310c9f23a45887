"""Rows of a text of numbers: cells, and what is a number."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.model import InputError

MOST_VALUES = 1_000_000
#: A longer line is no row of a table.
MOST_LINE = 1 << 16
#: What a message shows of a line, and of its cells.
_SHOWN = 40
_SHOWN_CELLS = 12
#: Beyond them a number measures nothing, and squares and ratios have no place in a float.
_SMALLEST, _LARGEST = 1e-100, 1e100
#: What is a number; float() takes "1_5" and "infinity" too.
#: Digits of a number; the pattern takes as many steps as their square.
_LONGEST = 400
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
#: A number as other countries and spreadsheets write it.
_LOCAL = re.compile(r"[-+]?[0-9]+(?:[.,'_ \u00a0\u202f\u2019][0-9]+)+")
#: In the place of a number: not even a name.
_MISSING = re.compile(r"n/?a|nil|none|null", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
#: From a # that begins a line or follows a blank; what stands in quotes is kept as it is.
_COMMENT = re.compile(r'("[^"]*")|(?:^|(?<=\s))#.*')
#: A heading behind which the numbers of lat_ctx come.
LAT_CTX = re.compile(r'"size=(\S+)')

Row = tuple[int, list[str]]


def read_rows(path: Path) -> tuple[list[Row], str | None]:
    """Return the number and the cells of each line that has any, and what is between cells."""
    rows: list[Row] = []
    between: str | None = None
    for number, line in bare_lines(path):
        if len(rows) > MOST_VALUES:
            raise InputError(f"{path} has more than {MOST_VALUES:,} lines")
        if LAT_CTX.match(line) and not any(_has_numbers_alone(cells) for _, cells in rows):
            # The lines above are the text of a mail.
            rows.clear()
        if not rows:
            between = find_separator(line)
        rows.append((number, split_cells(line, between)))
    if between == "\t" and not any(cells[0] for _, cells in rows):
        # No column, but how all lines are indented.
        rows = [(number, cells[1:]) for number, cells in rows]
    return rows, between


def bare_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that has any, without comments.

    Raises InputError for a line that is too long for a row.
    """
    for number, text in enumerate(unquoted(path), 1):
        if len(text) > MOST_LINE:
            raise InputError(f"{path}, line {number} is too long for a row of numbers")
        line = _COMMENT.sub(lambda match: match[1] or "", text) if "#" in text else text
        if line.strip():
            yield number, line


def _has_numbers_alone(cells: Sequence[str]) -> bool:
    return all(number(cell) is not None for cell in cells)


def find_separator(line: str) -> str | None:
    """Return what is between the cells of a file, as its first row has it; None: blanks.

    Of a whole file, for a comma in a row below a heading without commas is a decimal one.
    """
    bare = _QUOTED.sub("", line.strip())
    return next((separator for separator in ";\t," if separator in bare), None)


def split_cells(line: str, between: str | None) -> list[str]:
    """Return the cells of a row."""
    if between is None:
        return line.split()
    # Of a table with tabs the outer cells may be empty.
    line = line.strip(" ") if between == "\t" else line.strip()
    return [
        cell.strip() for cell in next(csv.reader([line], delimiter=between, skipinitialspace=True))
    ]


def words_of(cells: Sequence[str]) -> list[int]:
    """Return which cells may be names of columns: not numbers, and not such as "nan" or "N/A"."""
    return [n for n, cell in enumerate(cells)
            if (cell[:1].isalpha() or cell[:1] == "_")
            and not is_like_number(cell) and not _MISSING.fullmatch(cell)]  # fmt: skip


def is_like_number(text: str) -> bool:
    """Whether it is a number, or is meant for one: "nan", "1e999"."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_written_as_one(text: str) -> bool:
    return len(text) <= _LONGEST and _NUMBER.fullmatch(text) is not None


def number(text: str) -> float | None:
    """Return the number of a text; None where it is not one, or out of range."""
    if not _is_written_as_one(text):
        return None
    value = float(text)
    return value if value == 0 or _SMALLEST <= abs(value) <= _LARGEST else None


def no_number(path: Path, line: int, text: str) -> InputError:
    """Return the error for a text in the place of a number."""
    way = ""
    if _is_written_as_one(text):
        way = f" in the range: {_SMALLEST:g} is the least, {_LARGEST:g} the most"
    elif _LOCAL.fullmatch(text):
        way = ": write a decimal point, and nothing between thousands"
    return InputError(f"{path}, line {line}: {short(text)} is not a number{way}")


def count_text(cells: Sequence[str]) -> str:
    """Say how many cells there are."""
    return f"{len(cells)} cell" if len(cells) == 1 else f"{len(cells)} cells"


def columns_text(cells: Sequence[str]) -> str:
    """Return the names of the columns, or their numbers."""
    return list_text(cells) if words_of(cells) else f"1 to {len(cells)}" if cells[1:] else "1 alone"


def list_text(texts: Sequence[str]) -> str:
    """Return the first of some texts, each bounded, and how many more there are."""
    more = f" and {len(texts) - _SHOWN_CELLS} more" if len(texts) > _SHOWN_CELLS else ""
    return ", ".join(short(text) for text in texts[:_SHOWN_CELLS]) + more


def short(text: str) -> str:
    """Return a text as a message shows it: quoted and bounded."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
