"""Plain files of numbers: a number a line, a column of a table, or what a benchmark printed.

Such a file does not name the boots of its values. They count as repetitions within a boot, a boot a
file, unless the user states that each is a run. Ambiguous files are refused: a misread number
looks like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from whylate.recording.imported.model import InputError
from whylate.recording.imported.named import Named, choose, is_called
from whylate.recording.imported.rows import (
    Row,
    columns_text,
    count_text,
    is_like_number,
    no_number,
    number,
    read_rows,
    short,
    words_of,
)
from whylate.recording.imported.signs import find_signs
from whylate.recording.imported.tools import (
    function_graph,
    go_benchmark,
    google_benchmark,
    hyperfine,
    lat_ctx,
    perf_stat,
    perf_stat_csv,
)

_POSITION = re.compile(r"[1-9][0-9]{0,5}")
#: By the name of its sign: the pattern of a line, and what returns the numbers of a file.
_READERS: dict[str, tuple[str, Callable[[Path], Named | None]]] = {
    "perf_stat": (perf_stat.SIGN, perf_stat.read_named),
    "hyperfine": (hyperfine.SIGN, hyperfine.read_named),
    "google_benchmark": (google_benchmark.SIGN, google_benchmark.read_named),
    "go_benchmark": (go_benchmark.SIGN, go_benchmark.read_named),
    "function_graph": (function_graph.SIGN, function_graph.read_named),
}
_SIGNS = {name: sign for name, (sign, _) in _READERS.items()}


class UnknownError(InputError):
    """A file that no known tool wrote, and that is no table of numbers as it is."""


@dataclass(frozen=True)
class Table:
    """A file of numbers.

    name: of the values, "" where the file has none. values: in their order. factors: of a table,
    what stands beside each value, by columns of which there is one; empty elsewhere. tool: whose
    file it is.
    """

    path: Path
    name: str
    values: tuple[float, ...]
    factors: tuple[dict[str, str], ...] = ()
    tool: str = "numbers"
    #: As the tool says it; "": its file does not.
    unit: str = ""
    #: What is not in such a file, in words for a person.
    lacks: tuple[str, ...] = ()

    def where(self, column: str, pattern: str) -> Table:
        """Return the rows whose cell in a column matches a pattern with * and ? (fnmatch).

        Raises InputError where there is no such column, or no such row.
        """
        if not self.factors or column not in self.factors[0]:
            raise InputError(f"{self.path} has no column {column[:60]!r} beside its values")
        kept = [
            (value, beside)
            for value, beside in zip(self.values, self.factors, strict=True)
            if fnmatchcase(beside[column], pattern)
        ]
        if not kept:
            raise InputError(f"{self.path} has no row whose {column} is {pattern[:60]!r}")
        values, factors = zip(*kept, strict=True)
        return replace(self, values=values, factors=factors)

    def is_called(self, column: str) -> bool:
        """Whether --column means these values."""
        return is_called(self.tool, self.name, column)


def read_table(path: Path, column: str | None = None) -> Table:
    """Read a file of numbers; column: a heading, or a number from 1.

    Takes what ministat takes (columns between blanks, # comments) and tables with semicolons, tabs
    or commas. Raises InputError; UnknownError where the file is of no known tool.
    """
    signs = find_signs(path, _SIGNS)
    for name, (_, read) in _READERS.items():
        if name in signs and (named := read(path)) is not None:
            return _table(path, named, column)
    try:
        return _read_rows(path, column)
    except InputError as error:
        raise UnknownError(str(error)) from None


def is_of_known_tool(path: Path) -> bool:
    """Whether a line of a file is one of a tool whose numbers are read."""
    return bool(find_signs(path, _SIGNS))


def _read_rows(path: Path, column: str | None) -> Table:
    rows, between = read_rows(path)
    if not rows:
        raise InputError(f"{path} has no numbers")
    for read_named in (lat_ctx.read_rows, perf_stat_csv.read_rows):
        if (named := read_named(path, rows)) is not None:
            return _table(path, named, column)
    _check_widths(path, rows, between)
    at, headed = _place(path, rows, between, column)
    heading = rows[0][1] if headed else []
    beside = [n for n, name in enumerate(heading) if heading.count(name) == 1 and n != at]
    values, factors = [], []
    for line, cells in rows[1:] if headed else rows:
        value = number(cells[at])
        if value is None:
            raise no_number(path, line, cells[at])
        values.append(value)
        if headed:
            factors.append({heading[n]: cells[n] for n in beside})
    if not values:
        raise InputError(f"{path} has no numbers below its headings")
    return Table(path, heading[at] if headed else "", tuple(values), tuple(factors))


def _table(path: Path, named: Named, column: str | None) -> Table:
    chosen = choose(path, named, column)
    return Table(path, chosen.name, chosen.values, (), named.tool, chosen.unit, named.lacks)


def _check_widths(path: Path, rows: Sequence[Row], between: str | None) -> None:
    """Refuse rows whose cells are not those of the first row: they stand in other columns."""
    above, first = rows[0]
    for line, cells in rows:
        if len(cells) != len(first):
            if between is None and _is_text(rows):
                raise InputError(f"{path} is no table of numbers: line {line} has "
                                 f"{count_text(cells)}, line {above} has {len(first)}")  # fmt: skip
            way = ("write a decimal point, and other commas in quotes" if between == "," else
                   "each row takes as many")  # fmt: skip
            raise InputError(f"{path}, line {line} has {count_text(cells)}, line {above} has "
                             f"{len(first)}: {way}")  # fmt: skip


def _is_text(rows: Sequence[Row]) -> bool:
    """Whether most cells of a file, and all of its first row, are no numbers."""
    if any(number(cell) is not None for cell in rows[0][1]):
        return False
    numbers = sum(number(cell) is not None for _, cells in rows for cell in cells)
    return 2 * numbers < sum(len(cells) for _, cells in rows)


def _place(
    path: Path, rows: Sequence[Row], between: str | None, column: str | None
) -> tuple[int, bool]:
    """Return which column is meant, from 0, and whether the first row is a heading."""
    line, first = rows[0]
    if column is None:
        if len(first) == 1 or (len(rows) == 1 and not any(is_like_number(cell) for cell in first)):
            _check_no_heading(path, rows, 0)
            return 0, False
        if not any(is_like_number(cell) for _, cells in rows for cell in cells):
            raise InputError(f"{path} has no numbers")
        way = ", or write a decimal point" if between == "," and not words_of(first) else ""
        raise InputError(
            f"{path} has several columns: choose one with --column ({columns_text(first)}){way}"
        )
    at = int(column) - 1 if _POSITION.fullmatch(column) else len(first)
    if at < len(first):
        headed = _is_headed(path, rows, between, at)
    elif column not in first:
        raise InputError(f"{path} has no column {short(column)}: it has {columns_text(first)}")
    elif is_like_number(column) and not words_of(first):
        raise InputError(f"{path}, line {line}: {short(column)} is a number, not a heading")
    else:
        headed = True
    if headed and column in first:
        if first.count(column) > 1:
            raise InputError(f"{path}, line {line}: {first.count(column)} columns are called "
                             f"{short(column)}: choose it by its number")  # fmt: skip
        at = first.index(column)
    return at, headed


def _is_headed(path: Path, rows: Sequence[Row], between: str | None, at: int) -> bool:
    """Whether the first row is a heading, where a column was chosen by its number.

    Raises InputError where that is ambiguous.
    """
    line, first = rows[0]
    words = words_of(first)
    if len(first) > 1 and at in words and not any(
        cell for n, cell in enumerate(first) if n not in words
    ):  # fmt: skip
        return True
    _check_no_heading(path, rows, at)
    # Cells of the first row that are no numbers, in columns that are not empty.
    unnumbered = [n for n, cell in enumerate(first)
              if not is_like_number(cell) and any(cells[n] for _, cells in rows)]  # fmt: skip
    below = rows[1:]
    for n in unnumbered:
        if below and n in words and all(number(cells[n]) is not None for _, cells in below):
            return True
    # Between blanks, as for ministat, there are no headings that could be taken for values.
    if unnumbered and between is not None:
        raise InputError(f"{path}, line {line} may be a heading or values: give each column a "
                         "name, and give that of the wanted one with --column")  # fmt: skip
    return False


def _check_no_heading(path: Path, rows: Sequence[Row], at: int) -> None:
    """Refuse a first row that may be a heading."""
    line, first = rows[0]
    if number(first[at]) is not None:
        return
    if len(rows) > 1 and at in words_of(first) and number(rows[1][1][at]) is not None:
        raise InputError(f"{path}, line {line}: {short(first[at])} is not a number: if it is the "
                         f"heading, use --column {short(first[at])}")  # fmt: skip
    raise no_number(path, line, first[at] if len(rows) > 1 else " ".join(first))
