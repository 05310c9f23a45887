"""rtla timerlat hist: a histogram of interrupt, thread and user latency for each CPU.

Of the three the one that comes last is what an activation is late by: user where it was measured,
else thread, else interrupt. The heading says whether it is in microseconds or in nanoseconds. The
format is that of timerlat_hist.c in tools/tracing/rtla of Linux 5.17 to 6.18.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from whylate.recording.foreign.lines import MOST_ACTIVATIONS, unquoted
from whylate.recording.foreign.model import (
    BEYOND,
    ORDER,
    ForeignError,
    ForeignRun,
    from_counts,
    missed,
)

_US = 1000
#: The latest of the three that was measured, first.
_KINDS = ("Usr", "Thr", "IRQ")
_COLUMN = r"(?:IRQ|Thr|Usr)-\d{1,6}"
_HEADING = re.compile(rf"\s*(Index)?((?:\s+{_COLUMN})+)\s*")
_MORE_HEADING = re.compile(rf"\s*{_COLUMN}(?:\s+{_COLUMN})*\s*")
#: A count of nine digits and more leaves no blank behind the name.
_ROW = re.compile(r"\s*(\d+(?=\s)|over:|count:|min:|avg:|max:)((?:\s*(?:\d+|-)(?=\s|$))+)\s*")
_MORE_ROW = re.compile(r"\s*(?:\d+|-)(?:\s+(?:\d+|-))*\s*")
_NANOSECONDS = re.compile(r"\s*# Time unit is nanoseconds")
#: Of tracefs' ring buffer: events that were lost on the way to the histogram.
_LOST = re.compile(r"\s*(unknown number of|\d{1,18} \([\d.]+%\)) events missed, results might")


@dataclass
class _Table:
    """What was read so far. rows: by their first word, a cell for each column."""

    scale: int = _US
    columns: list[str] = field(default_factory=list)
    rows: dict[str, list[str]] = field(default_factory=dict)
    lost: str | None = None

    def cells(self, name: str, wanted: list[int]) -> list[int | None]:
        """Return some cells of a row, None where there is none."""
        row = self.rows.get(name, [])
        return [int(row[at]) if row and row[at] != "-" else None for at in wanted]

    def total(self, name: str, wanted: list[int]) -> int:
        """Return the sum of some cells of a row."""
        return sum(cell or 0 for cell in self.cells(name, wanted))


def read_text(path: Path) -> ForeignRun | None:
    """Read its histogram; None where it is not of rtla. Raises ForeignError."""
    table = _read(path)
    if "over:" not in table.rows:
        if table.columns:
            raise ForeignError(f'{path}: the histogram has no row "over:": it is not whole')
        return None
    wanted = _latest(table)
    bins = {int(name): table.total(name, wanted) for name in table.rows if name.isdecimal()}
    inside, overflow = sum(bins.values()), table.total("over:", wanted)
    counted = table.total("count:", wanted)
    if "count:" in table.rows and inside + overflow != counted:
        raise ForeignError(
            f"{path}: the histogram has {inside + overflow} activations and says {counted}: it is "
            "not whole"
        )
    if inside + overflow > MOST_ACTIVATIONS:
        raise ForeignError(f"{path} has more than {MOST_ACTIVATIONS:,} activations")
    lacks = [ORDER, *([BEYOND] if overflow else []), missed("timerlat")]
    if table.lost is not None:
        lacks.append(f"{table.lost} events that were lost on their way to rtla")
    return ForeignRun(
        "rtla timerlat",
        from_counts([one * table.scale for one in bins], list(bins.values())),
        overflow, False, _average_ns(table, wanted), _largest_ns(table, wanted), 0, tuple(lacks),
    )  # fmt: skip


def _latest(table: _Table) -> list[int]:
    """Return the columns of the latest latency that anything was counted of."""
    found: list[int] = []
    for kind in _KINDS:
        columns = [at for at, name in enumerate(table.columns) if name.startswith(kind)]
        found = found or columns
        # A run that stopped at its first late thread has none that came to user space.
        counts = [row for row in table.rows if row.isdecimal() or row == "over:"]
        if any(table.total(row, columns) for row in counts):
            return columns
    return found


def _average_ns(table: _Table, wanted: list[int]) -> float | None:
    """Return the mean of the columns' averages, each as often as it counts."""
    counts, averages = table.cells("count:", wanted), table.cells("avg:", wanted)
    known = [(count, average) for count, average in zip(counts, averages, strict=True)
             if count and average is not None]  # fmt: skip
    total = sum(count for count, _ in known)
    mean = sum(count * average for count, average in known) / total if total else None
    return None if mean is None else mean * table.scale


def _largest_ns(table: _Table, wanted: list[int]) -> int | None:
    known = [cell for cell in table.cells("max:", wanted) if cell is not None]
    return max(known) * table.scale if known else None


def _read(path: Path) -> _Table:
    """Read the table of all CPUs one by one; what follows is of all of them together."""
    table = _Table()
    for line in _unwrapped(unquoted(path), table):
        if _NANOSECONDS.match(line):
            table.scale = 1
        elif (match := _LOST.match(line)) is not None:
            table.lost = "an unknown number of" if match[1][0] == "u" else match[1]
        elif not table.columns and (match := _HEADING.fullmatch(line)):
            if match[1] is None:
                raise ForeignError(f"{path} does not say which latency a row is of: rtla prints it "
                                   "without --no-index")  # fmt: skip
            table.columns = match[2].split()
        elif match := _ROW.fullmatch(line):
            if not table.columns and match[1] == "over:":
                raise ForeignError(f"{path} says neither its unit nor its columns: rtla prints "
                                   "them without --no-header")  # fmt: skip
            words = match[2].split()
            if len(words) == len(table.columns):
                table.rows.setdefault(match[1], words)
    return table


def _unwrapped(lines: Iterator[str], table: _Table) -> Iterator[str]:
    """Join what a mail wrapped: a heading whose columns go on, and rows with too few cells."""
    held: str | None = None
    for line in lines:
        if held is not None and _goes_on(held, line, table):
            held += " " + line.strip()
            continue
        if held is not None:
            yield held
        held = line
    if held is not None:
        yield held


def _goes_on(held: str, line: str, table: _Table) -> bool:
    if _HEADING.fullmatch(held):
        return _MORE_HEADING.fullmatch(line) is not None
    row = _ROW.fullmatch(held)
    if row is None or not table.columns or not _MORE_ROW.fullmatch(line):
        return False
    return len(row[2].split()) + len(line.split()) <= len(table.columns)
