"""Plain files of numbers: one a line, a column of a table, or the box that ministat printed.

Such a file says nothing of when and in which boot its values came about. They are taken as
repetitions within one boot, a boot a file, unless whoever has them says that each is a run of its
own.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whylate.recording.foreign.lines import unquoted
from whylate.recording.foreign.model import ForeignError

MOST_VALUES = 1_000_000
#: A longer line is no row of a table.
MOST_LINE = 1 << 16
#: What a message shows of a line.
_SHOWN = 40
#: A line of ministat's box: mark, n, minimum, maximum, median, average, standard deviation.
_NUMBER = r"([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
_MINISTAT = re.compile(rf"\s*([x+*%#@O])\s+(\d+)(?:\s+{_NUMBER}){{3}}\s+{_NUMBER}\s+{_NUMBER}\s*")
_EVENT = re.compile(r"[A-Za-z][A-Za-z0-9_:./=,-]{0,80}")

_Row = tuple[int, list[str]]


@dataclass(frozen=True)
class Box:
    """What ministat printed of the values of one file; sd: the standard deviation."""

    n: int
    mean: float
    sd: float


@dataclass(frozen=True)
class Table:
    """A file of numbers.

    name: of the values, "" where the file has none. values: in their order. factors: of a table,
    what stands beside each value, by column; empty elsewhere. tool: whose file it is.
    """

    path: Path
    name: str
    values: tuple[float, ...]
    factors: tuple[dict[str, str], ...] = ()
    tool: str = "numbers"


def read_table(path: Path, column: str | None = None) -> Table:
    """Read a file of numbers; column: a heading, or a number from 1.

    Takes what ministat takes (columns between blanks, # comments) and tables with commas or
    semicolons. Raises ForeignError.
    """
    rows = _rows(path)
    if not rows:
        raise ForeignError(f"{path} has no numbers")
    for tool, read in (("lat_ctx", _lat_ctx), ("perf stat", _perf_stat)):
        if named := read(rows):
            return _named(path, named, column, tool)
    heading = rows[0][1] if _number(rows[0][1], column) is None else None
    if heading is not None and len(rows) == 1:
        line, cells = rows[0]
        raise ForeignError(f"{path}, line {line}: {_short(' '.join(cells))} is no number")
    at = _column(path, heading, column)
    values, factors = [], []
    for line, cells in rows[1:] if heading is not None else rows:
        text = cells[at] if at < len(cells) else ""
        value = _float(text)
        if value is None:
            raise ForeignError(f"{path}, line {line}: {_short(text)} is no number")
        values.append(value)
        if heading is not None:
            factors.append(
                {
                    name: cell
                    for name, cell in zip(heading, cells, strict=False)
                    if name != heading[at]
                }
            )
    name = heading[at] if heading is not None else ""
    return Table(path, name, tuple(values), tuple(factors))


def _lat_ctx(rows: Sequence[_Row]) -> list[tuple[int, str, str]]:
    """Return lmbench's lat_ctx: a heading `"size=0k ovr=2.02`, then processes and µs a line."""
    if not rows[0][1][0].startswith('"size='):
        return []
    return [(line, cells[0], cells[1]) for line, cells in rows if len(cells) == 2 and
            cells[0].isdecimal()]  # fmt: skip


def _perf_stat(rows: Sequence[_Row]) -> list[tuple[int, str, str]]:
    """Return `perf stat -x,`: value, unit, event, and more of it, an event a line."""
    if not all(len(cells) >= 5 and _EVENT.fullmatch(cells[2]) for _, cells in rows):
        return []
    return [(line, cells[2], cells[0]) for line, cells in rows]


def _named(
    path: Path, found: Sequence[tuple[int, str, str]], column: str | None, tool: str
) -> Table:
    """Return the values of one name, of several that stand in a file line by line."""
    names = list(dict.fromkeys(name for _, name, _ in found))
    if column is None and len(names) == 1:
        column = names[0]
    if column not in names:
        known = ", ".join(_short(name) for name in names[:12])
        raise ForeignError(f"{path} has {known}: choose one with --column")
    values = []
    for line, name, text in found:
        value = _float(text)
        if name == column and value is None:
            raise ForeignError(f"{path}, line {line}: {_short(text)} is no number")
        if name == column and value is not None:
            values.append(value)
    return Table(path, column or "", tuple(values), tool=tool)


def read_boxes(path: Path) -> list[Box]:
    """Read what ministat printed, a row for each of its files; none where it is no such table.

    Raises ForeignError for what cannot be read.
    """
    found = [
        Box(int(match[2]), float(match[4]), float(match[5]))
        for line in unquoted(path)
        if len(line) <= MOST_LINE and (match := _MINISTAT.fullmatch(line))
    ]
    return found if len(found) > 1 else []


def _rows(path: Path) -> list[_Row]:
    """Return the number and the cells of each line that has any."""
    found: list[_Row] = []
    for number, text in enumerate(unquoted(path), 1):
        if len(text) > MOST_LINE:
            raise ForeignError(f"{path}, line {number} is too long for a row of numbers")
        line = text.partition("#")[0].strip().removeprefix("\ufeff")
        if not line:
            continue
        if len(found) > MOST_VALUES:
            raise ForeignError(f"{path} has more than {MOST_VALUES:,} lines")
        between = next((one for one in ",;\t" if one in line), None)
        if between is None:
            cells = line.split()
        else:
            cells = [cell.strip() for cell in next(csv.reader([line], delimiter=between))]
        found.append((number, cells))
    return found


def _column(path: Path, heading: Sequence[str] | None, column: str | None) -> int:
    if column is None:
        if heading is not None and len(heading) > 1:
            raise ForeignError(f"{path} has several columns: choose one with --column "
                               f"({', '.join(_short(one) for one in heading[:12])})")  # fmt: skip
        return 0
    if heading is not None and column in heading:
        return heading.index(column)
    if column.isdecimal() and int(column) > 0:
        return int(column) - 1
    known = f": it has {', '.join(_short(one) for one in heading[:12])}" if heading else ""
    raise ForeignError(f"{path} has no column {_short(column)}{known}")


def _number(cells: Sequence[str], column: str | None) -> float | None:
    """Return the number in the column of a line without headings, or None."""
    at = int(column) - 1 if column is not None and column.isdecimal() else 0
    if column is not None and not column.isdecimal():
        return None
    return _float(cells[at]) if 0 <= at < len(cells) else None


def _float(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
