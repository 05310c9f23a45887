"""Plain files of numbers: a number a line, a column of a table, or the box that ministat printed.

Such a file does not name the boots of its values. They count as repetitions within a boot, a boot a
file, unless the user states that each is a run. Ambiguous files are refused: a misread number
looks like any other.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
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
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
#: A number as other countries and spreadsheets write it.
_LOCAL = re.compile(r"[-+]?[0-9]+(?:[.,'_ \u00a0\u202f\u2019][0-9]+)+")
_POSITION = re.compile(r"[1-9][0-9]{0,5}")
#: In the place of a number: not even a name.
_MISSING = re.compile(r"n/?a|nil|none|null", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
#: From a # that begins a line or follows a blank; what stands in quotes is kept as it is.
_COMMENT = re.compile(r'("[^"]*")|(?:^|(?<=\s))#.*')
#: A line of ministat's box: mark, n, minimum, maximum, median, average, standard deviation.
_FIGURE = r"([-+]?(?:[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?|nan|inf))"
_MINISTAT = re.compile(
    rf"\s*([x+*%#@O])\s+([0-9]+)(?:\s+{_FIGURE}){{3}}\s+{_FIGURE}\s+{_FIGURE}\s*"
)
_MOST_N = 10**9
_LAT_CTX = re.compile(r'"size=(\S+)')
_EVENT = re.compile(r"[A-Za-z][A-Za-z0-9_:./=,-]{0,80}")
#: What perf's events are in.
_UNITS = frozenset(
    ("", "msec", "s", "ms", "us", "ns", "Joules", "J", "mJ", "uJ", "Watts", "mWatts", "W", "B",
     "Bytes", "KB", "MB", "GB", "KiB", "MiB", "GiB", "MB/s", "GB/s", "M", "MHz", "C", "%")
)  # fmt: skip

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
        return _is_called(self.tool, self.name, column)


def read_table(path: Path, column: str | None = None) -> Table:
    """Read a file of numbers; column: a heading, or a number from 1.

    Takes what ministat takes (columns between blanks, # comments) and tables with semicolons, tabs
    or commas. Raises InputError.
    """
    rows, between = _rows(path)
    if not rows:
        raise InputError(f"{path} has no numbers")
    for tool, read in (("lat_ctx", _lat_ctx), ("perf stat", _perf_stat)):
        if named := read(path, rows):
            return _named(path, named, column, tool)
    _check_widths(path, rows, between)
    at, headed = _place(path, rows, between, column)
    heading = rows[0][1] if headed else []
    beside = [n for n, name in enumerate(heading) if heading.count(name) == 1 and n != at]
    values, factors = [], []
    for line, cells in rows[1:] if headed else rows:
        value = _float(cells[at])
        if value is None:
            raise _no_number(path, line, cells[at])
        values.append(value)
        if headed:
            factors.append({heading[n]: cells[n] for n in beside})
    if not values:
        raise InputError(f"{path} has no numbers below its headings")
    return Table(path, heading[at] if headed else "", tuple(values), tuple(factors))


def _lat_ctx(path: Path, rows: Sequence[_Row]) -> list[tuple[int, str, str]]:
    """Return lmbench's lat_ctx: a heading `"size=0k ovr=2.02`, then processes and µs a line."""
    if not _LAT_CTX.match(rows[0][1][0]):
        return []
    named, size = [], ""
    for line, cells in rows:
        if heading := _LAT_CTX.match(cells[0]):
            size = heading[1]
        elif len(cells) == 2 and _POSITION.fullmatch(cells[0]) and _float(cells[1]) is not None:
            named.append((line, f"{cells[0]} size={size}", cells[1]))
        else:
            raise InputError(f"{path}, line {line}: {_short(' '.join(cells))} is not a row of "
                             "lat_ctx, which has processes and µs: remove it")  # fmt: skip
    if not named:
        raise InputError(f"{path} has no numbers below the size of lat_ctx")
    return named


def _perf_stat(path: Path, rows: Sequence[_Row]) -> list[tuple[int, str, str]]:
    """Return `perf stat -x,`: value, unit, event, and more of it, an event a line."""
    # A line that has a metric alone belongs to the event above it.
    events = [row for row in rows if any(row[1][:3])]
    if not events:
        return []
    if all(_float(cells[0]) is not None and _is_event(cells[1:]) for _, cells in events):
        raise InputError(f"{path} is of perf stat -I, which counts parts of one run: count each "
                         "run as a whole, without -I")  # fmt: skip
    if not all(_is_event(cells) for _, cells in events):
        return []
    return [(line, cells[2], cells[0]) for line, cells in events]


def _is_event(cells: Sequence[str]) -> bool:
    """Whether it is a row of perf's: value, unit, event, (spread in %,) time, share of time."""
    if len(cells) < 5:
        return False
    value, unit, event, *more = cells
    time, share = more[1:3] if more[0].endswith("%") and len(more) > 2 else more[:2]
    return (
        (_float(value) is not None or value.startswith("<not "))
        and unit in _UNITS
        and _EVENT.fullmatch(event) is not None
        and time.isdecimal()
        and _float(share) is not None
    )


def _named(
    path: Path, named: Sequence[tuple[int, str, str]], column: str | None, tool: str
) -> Table:
    """Return the values of one name, of several that stand in a file line by line."""
    names = list(dict.fromkeys(name for _, name, _ in named))
    chosen = [name for name in names if column is None or _is_called(tool, name, column)]
    if len(chosen) != 1:
        raise InputError(f"{path} has {_list(names)}: choose one with --column")
    values = []
    for line, name, text in named:
        value = _float(text)
        if name == chosen[0] and value is None:
            raise _no_number(path, line, text)
        if name == chosen[0] and value is not None:
            values.append(value)
    return Table(path, chosen[0], tuple(values), tool=tool)


def _is_called(tool: str, name: str, column: str) -> bool:
    """Whether a column is meant; of lat_ctx the number of processes will do without the size."""
    return column == name or (tool == "lat_ctx" and column == name.partition(" ")[0])


def read_boxes(path: Path) -> list[Box]:
    """Read what ministat printed, a row for each of its files; none where it is no such table.

    Raises InputError for what cannot be read.
    """
    boxes: dict[str, Box] = {}
    for number, line in enumerate(unquoted(path), 1):
        match = _MINISTAT.fullmatch(line) if len(line) <= MOST_LINE else None
        if match is None:
            continue
        if match[1] in boxes:
            raise InputError(f"{path}, line {number} is a second row {match[1]}: put each of "
                             "ministat's boxes in a file of its own")  # fmt: skip
        # So many digits, for int() refuses thousands of them.
        n = int(match[2]) if len(match[2]) < 12 else 0
        mean, sd = _float(match[4]), _float(match[5])
        if not 2 <= n <= _MOST_N or mean is None or sd is None or sd < 0:
            raise InputError(f"{path}, line {number} cannot be compared: it takes 2 to "
                             f"{_MOST_N:,} values, their mean and deviation")  # fmt: skip
        boxes[match[1]] = Box(n, mean, sd)
    return list(boxes.values()) if len(boxes) > 1 else []


def _rows(path: Path) -> tuple[list[_Row], str | None]:
    """Return the number and the cells of each line that has any, and what is between cells."""
    rows: list[_Row] = []
    between: str | None = None
    for number, text in enumerate(unquoted(path), 1):
        if len(text) > MOST_LINE:
            raise InputError(f"{path}, line {number} is too long for a row of numbers")
        line = text.removeprefix("\ufeff")
        if "#" in line:
            line = _COMMENT.sub(lambda match: match[1] or "", line)
        if not line.strip():
            continue
        if len(rows) > MOST_VALUES:
            raise InputError(f"{path} has more than {MOST_VALUES:,} lines")
        if _LAT_CTX.match(line) and not any(_has_numbers_alone(cells) for _, cells in rows):
            # The lines above are the text of a mail.
            rows.clear()
        if not rows:
            between = _between(line)
        rows.append((number, _cells(line, between)))
    if between == "\t" and not any(cells[0] for _, cells in rows):
        # No column, but how all lines are indented.
        rows = [(number, cells[1:]) for number, cells in rows]
    return rows, between


def _has_numbers_alone(cells: Sequence[str]) -> bool:
    return all(_float(cell) is not None for cell in cells)


def _between(line: str) -> str | None:
    """Return what is between the cells of a file, as its first row has it; None: blanks.

    Of a whole file, for a comma in a row below a heading without commas is a decimal one.
    """
    bare = _QUOTED.sub("", line.strip())
    return next((separator for separator in ";\t," if separator in bare), None)


def _cells(line: str, between: str | None) -> list[str]:
    if between is None:
        return line.split()
    # Of a table with tabs the outer cells may be empty.
    line = line.strip(" ") if between == "\t" else line.strip()
    return [
        cell.strip() for cell in next(csv.reader([line], delimiter=between, skipinitialspace=True))
    ]


def _check_widths(path: Path, rows: Sequence[_Row], between: str | None) -> None:
    """Refuse rows whose cells are not those of the first row: they stand in other columns."""
    above, first = rows[0]
    for line, cells in rows:
        if len(cells) != len(first):
            way = ("write a decimal point, and other commas in quotes" if between == "," else
                   "each row takes as many")  # fmt: skip
            raise InputError(f"{path}, line {line} has {_count(cells)}, line {above} has "
                             f"{len(first)}: {way}")  # fmt: skip


def _place(
    path: Path, rows: Sequence[_Row], between: str | None, column: str | None
) -> tuple[int, bool]:
    """Return which column is meant, from 0, and whether the first row is a heading."""
    line, first = rows[0]
    if column is None:
        if len(first) == 1 or (len(rows) == 1 and not any(_is_like_number(cell) for cell in first)):
            _check_no_heading(path, rows, 0)
            return 0, False
        way = ", or write a decimal point" if between == "," and not _words(first) else ""
        raise InputError(
            f"{path} has several columns: choose one with --column ({_columns(first)}){way}"
        )
    at = int(column) - 1 if _POSITION.fullmatch(column) else len(first)
    if at < len(first):
        headed = _is_headed(path, rows, between, at)
    elif column not in first:
        raise InputError(f"{path} has no column {_short(column)}: it has {_columns(first)}")
    elif _is_like_number(column) and not _words(first):
        raise InputError(f"{path}, line {line}: {_short(column)} is a number, not a heading")
    else:
        headed = True
    if headed and column in first:
        if first.count(column) > 1:
            raise InputError(f"{path}, line {line}: {first.count(column)} columns are called "
                             f"{_short(column)}: choose it by its number")  # fmt: skip
        at = first.index(column)
    return at, headed


def _is_headed(path: Path, rows: Sequence[_Row], between: str | None, at: int) -> bool:
    """Whether the first row is a heading, where a column was chosen by its number.

    Raises InputError where that is ambiguous.
    """
    line, first = rows[0]
    words = _words(first)
    if len(first) > 1 and at in words and not any(
        cell for n, cell in enumerate(first) if n not in words
    ):  # fmt: skip
        return True
    _check_no_heading(path, rows, at)
    # Cells of the first row that are no numbers, in columns that are not empty.
    unnumbered = [n for n, cell in enumerate(first)
              if not _is_like_number(cell) and any(cells[n] for _, cells in rows)]  # fmt: skip
    below = rows[1:]
    for n in unnumbered:
        if below and n in words and all(_float(cells[n]) is not None for _, cells in below):
            return True
    # Between blanks, as for ministat, there are no headings that could be taken for values.
    if unnumbered and between is not None:
        raise InputError(f"{path}, line {line} may be a heading or values: give each column a "
                         "name, and give that of the wanted one with --column")  # fmt: skip
    return False


def _check_no_heading(path: Path, rows: Sequence[_Row], at: int) -> None:
    """Refuse a first row that may be a heading."""
    line, first = rows[0]
    if _float(first[at]) is not None:
        return
    if len(rows) > 1 and at in _words(first) and _float(rows[1][1][at]) is not None:
        raise InputError(f"{path}, line {line}: {_short(first[at])} is not a number: if it is the "
                         f"heading, use --column {_short(first[at])}")  # fmt: skip
    raise _no_number(path, line, first[at] if len(rows) > 1 else " ".join(first))


def _words(cells: Sequence[str]) -> list[int]:
    """Return which cells may be names of columns: not numbers, and not such as "nan" or "N/A"."""
    return [n for n, cell in enumerate(cells)
            if (cell[:1].isalpha() or cell[:1] == "_")
            and not _is_like_number(cell) and not _MISSING.fullmatch(cell)]  # fmt: skip


def _is_like_number(text: str) -> bool:
    """Whether it is a number, or is meant for one: "nan", "1e999"."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _float(text: str) -> float | None:
    """Return the number of a text; None where it is not one, or out of range."""
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if value == 0 or _SMALLEST <= abs(value) <= _LARGEST else None


def _no_number(path: Path, line: int, text: str) -> InputError:
    way = ""
    if _NUMBER.fullmatch(text):
        way = f" in the range: {_SMALLEST:g} is the least, {_LARGEST:g} the most"
    elif _LOCAL.fullmatch(text):
        way = ": write a decimal point, and nothing between thousands"
    return InputError(f"{path}, line {line}: {_short(text)} is not a number{way}")


def _count(cells: Sequence[str]) -> str:
    return f"{len(cells)} cell" if len(cells) == 1 else f"{len(cells)} cells"


def _columns(cells: Sequence[str]) -> str:
    """Return the names of the columns, or their numbers."""
    return _list(cells) if _words(cells) else f"1 to {len(cells)}" if cells[1:] else "1 alone"


def _list(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN_CELLS} more" if len(texts) > _SHOWN_CELLS else ""
    return ", ".join(_short(text) for text in texts[:_SHOWN_CELLS]) + more


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
