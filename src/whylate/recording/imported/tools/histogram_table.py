"""A histogram as a table: a latency and how often it came, a row each, below their headings.

The heading of the latencies names them and their unit (`latency_us`, `usec`, `value (ns)`, or a
bare name, with --unit), that of the counts is `count` or one like it, or names a CPU; several
columns of counts are added. How wide a bucket is and what was left out beyond the last row the
table does not say: each latency is taken for the value of its row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from whylate.recording.imported.model import (
    MOST_NS,
    ImportedRun,
    InputError,
    Printed,
    histogram_run,
)
from whylate.recording.imported.rows import (
    Row,
    bare_lines,
    find_separator,
    number,
    read_rows,
    split_cells,
)
from whylate.text import is_number

#: Not "time" or "duration": a table of these and a count is one of what came when.
_LATENCY = re.compile(
    r"(?:(?:wake-?up|sched(?:uling)?|irq|interrupt|thread|user)[ _-]?)?"
    r"(?:(?:latency|latencies|value|bucket|bin|delay|jitter)s?"
    r"(?:[ _-]?[(\[]?(?P<unit>[a-zµμ]{1,12})[)\]]?)?"
    r"|(?P<bare>ns|nsecs?|us|usecs?|µs|μs|microseconds?|nanoseconds?))",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"counts?|freq(?:uency)?|frequencies|hits|samples|occurrences|number|num|n"
    r"|(?:cpu|core|thread|t|c)[ _-]?#?\d{1,4}",
    re.IGNORECASE,
)
_SCALES = {
    1: ("ns", "nsec", "nsecs", "nanosecond", "nanoseconds"),
    1_000: ("us", "µs", "μs", "usec", "usecs", "microsecond", "microseconds"),
    1_000_000: ("ms", "msec", "msecs", "millisecond", "milliseconds"),
    1_000_000_000: ("s", "sec", "secs", "second", "seconds"),
}
TOOL = "a histogram as a table"
_WIDTH = "where in its bucket a latency was: the value of its row is used"
_END = "whether latencies beyond the last row were left out"


def read_text(path: Path, unit: str = "") -> list[ImportedRun]:
    """Read such a table; empty where the file is another. unit: where no heading has it.

    Raises InputError where the unit is not known, or the table is no histogram.
    """
    rows = _rows(path)
    heading = _heading(rows[0]) if rows else None
    if heading is None:
        return []
    counts = len(rows[0][1]) - 1
    scale = _scale(path, heading or unit)
    bins: dict[int, int] = {}
    for line, cells in rows[1:]:
        value_ns, count = _row(path, line, cells, counts, scale)
        if bins and value_ns <= next(reversed(bins)):
            raise InputError(
                f"{path}, line {line}: the latencies of a histogram ascend, each once, and this "
                "one does not"
            )
        bins[value_ns] = count
    if not sum(bins.values()):
        raise InputError(f"{path} is a histogram without a count")
    return [histogram_run(path, TOOL, bins, 0, 1, Printed(None, None), _WIDTH, _END)]


def latency_heading(path: Path) -> str | None:
    """Return the heading of a histogram's latencies; None: the file is no such table."""
    rows = _rows(path)
    return rows[0][1][0] if rows else None


def _rows(path: Path) -> list[Row]:
    """Return the rows of a histogram, its heading among them; empty: it is another file."""
    try:
        line, text = next(bare_lines(path), (0, ""))
        # A large table that is another is not read for its heading.
        cells = split_cells(text, find_separator(text)) if text else []
        if len(cells) < 2 or _heading((line, cells)) is None:
            return []
        rows, _ = read_rows(path)
    except InputError:
        # Whoever reads it as numbers names what is wrong.
        return []
    return rows if len(rows) > 1 and _heading(rows[0]) is not None else []


def _heading(row: Row) -> str | None:
    """Return the unit in a heading of a histogram, "" where it has none; None: it is another."""
    latency, *counts = row[1]
    match = _LATENCY.fullmatch(latency)
    if match is None or not all(_COUNT.fullmatch(count) for count in counts):
        return None
    return match["unit"] or match["bare"] or ""


def _scale(path: Path, unit: str) -> int:
    """Return how many ns a unit has; raises InputError."""
    if not unit:
        raise InputError(
            f"{path} is a histogram, a latency and its count a row, without a unit: name it with "
            "--unit us, or in the heading (latency_us,count)"
        )
    for scale, names in _SCALES.items():
        if unit.lower() in names:
            return scale
    raise InputError(f"{path} is a histogram of {unit[:20]!r}, which is no unit of time; expected "
                     "one of ns, us, ms, s")  # fmt: skip


def _row(path: Path, line: int, cells: Sequence[str], counts: int, scale: int) -> tuple[int, int]:
    """Return a latency in ns and its count; raises InputError."""
    if len(cells) != counts + 1 or number(cells[0]) is None:
        raise InputError(f"{path}, line {line} is no row of a histogram, a latency and its count")
    if not all(is_number(cell, 15) for cell in cells[1:]):
        raise InputError(f"{path}, line {line}: a count of a histogram is a whole number")
    value_ns = round(Decimal(cells[0]) * scale)
    if abs(value_ns) > MOST_NS:
        raise InputError(f"{path}, line {line} is no latency")
    return value_ns, sum(int(cell) for cell in cells[1:])
