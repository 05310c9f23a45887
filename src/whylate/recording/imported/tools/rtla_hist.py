"""rtla timerlat hist and rtla osnoise hist: a histogram for each CPU.

timerlat has interrupt, thread and user latency, osnoise the length of each single noise.
Of the three latencies the last is used: user where it was measured, else thread, else interrupt.
The heading has the unit, microseconds or nanoseconds. A latency is divided by the width of buckets
(-b) and cut (timerlat_hist_update()). That width is not in the file: it is at most the greatest
common divisor of all rows, and a latency is taken for the last that its bucket can have. A bucket
of 1 µs hides up to 1 µs. The mean is that of the histogram where buckets are one unit wide, else
the printed one, which is cut to a whole unit. Of those beyond the end (-E) the count and the
largest are known. The format is that of timerlat_hist.c in tools/tracing/rtla of Linux 5.17 to
6.18. A file may hold several, one after the other: each is a run.

The rows of osnoise come from a histogram trigger of the kernel: also min:, avg: and max: are of the
beginnings of buckets (osnoise_hist.c), so that its mean and its maximum may be up to a bucket more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.model import (
    ImportedRun,
    InputError,
    Printed,
    histogram_run,
    missed,
)

SIGN = r"\bover:|\b(?:IRQ|Thr|Usr|CPU)-\d{1,6}\b"
_US = 1000
#: The latest of the three that was measured, first.
_KINDS = ("Usr", "Thr", "IRQ", "CPU")
_THRESHOLD = "noise shorter than the tracer's threshold (tracing_thresh)"
#: Linux has no more CPUs than 8192.
_MOST_COLUMNS = 3 * 8192
_COLUMN = r"(?:IRQ|Thr|Usr|CPU)-\d{1,6}"
_MORE_HEADING = re.compile(rf"{_COLUMN}(?:\s+{_COLUMN})*")
_HEADING = re.compile(rf"(Index\s+)?({_MORE_HEADING.pattern})")
#: A count of nine digits and more leaves no blank behind the name.
_ROW = re.compile(r"(\d+(?=\s)|over:|count:|min:|avg:|max:)((?:\s*(?:\d+|-)(?=\s|$))+)")
_MORE_ROW = re.compile(r"(?:\d+|-)(?:\s+(?:\d+|-))*")
_TITLE = re.compile(r"# RTLA (?:timerlat|osnoise) histogram")
#: What follows is of all CPUs together.
_ALL = re.compile(r"ALL:\s")
_NANOSECONDS = re.compile(r"# Time unit is nanoseconds")
#: Of tracefs' ring buffer: events that were lost on the way to the histogram.
_LOST = re.compile(r"(unknown number of|\d{1,18} \([\d.]+%\)) events missed, results might")


@dataclass
class _Table:
    """What was read so far. rows: by their first word, a cell for each column.

    whole: the table of single CPUs has ended.
    """

    scale: int = _US
    columns: list[str] = field(default_factory=list)
    rows: dict[str, list[str]] = field(default_factory=dict)
    lost: str | None = None
    whole: bool = False

    def is_noise(self) -> bool:
        """Whether it is of osnoise."""
        return bool(self.columns) and self.columns[0].startswith("CPU")

    def cells(self, name: str, wanted: list[int]) -> list[int | None]:
        """Return some cells of a row, None where there is none."""
        row = self.rows.get(name, [])
        return [int(row[at]) if row and row[at] != "-" else None for at in wanted]

    def total(self, name: str, wanted: list[int]) -> int:
        """Return the sum of some cells of a row."""
        return sum(cell or 0 for cell in self.cells(name, wanted))


def read_text(path: Path) -> list[ImportedRun]:
    """Read its histograms; empty where the file is not of rtla. Raises InputError."""
    return [run for table in _tables(path) if (run := _run(path, table)) is not None]


def _run(path: Path, table: _Table) -> ImportedRun | None:
    if "over:" not in table.rows:
        if table.columns:
            raise InputError(f'{path}: the histogram has no row "over:": it is incomplete')
        return None
    wanted = _latest(table)
    counted = table.total("count:", wanted)
    inside = sum(table.total(name, wanted) for name in table.rows if name.isdecimal())
    overflow = table.total("over:", wanted)
    if "count:" in table.rows and inside + overflow != counted:
        raise InputError(
            f"{path}: the histogram has {inside + overflow} activations, its count: is {counted}: "
            "it is incomplete"
        )
    if "count:" in table.rows and "max:" not in table.rows:
        raise InputError(f'{path}: the histogram has no row "max:": it is incomplete')
    bins, width = _ends(path, table, wanted)
    unit = "µs" if table.scale == _US else "ns"
    lacks = []
    if width > 1:
        lacks.append(f"where in a bucket of up to {width} {unit} a latency was: its end is used")
    noise = table.is_noise()
    lacks.append(_THRESHOLD if noise else missed("timerlat"))
    if table.lost is not None:
        lacks.append(f"{table.lost} events that were lost before rtla read them")
    average_ns, max_ns = _average_ns(table, wanted), _largest_ns(table, wanted)
    # Of noise both are those of the beginnings of buckets.
    within = width if noise else 1
    if noise and max_ns is not None:
        max_ns += (within - 1) * table.scale
        if max(bins, default=0) * table.scale > max_ns:
            raise InputError(f"{path} is damaged: its histogram has latencies beyond its maximum")
    printed = Printed(average_ns, max_ns, within * table.scale, f"{within} {unit}")
    tool = "rtla osnoise" if noise else "rtla timerlat"
    return histogram_run(path, tool, bins, overflow, table.scale, printed, *lacks,
                         of_ends=width > 1)  # fmt: skip


def _ends(path: Path, table: _Table, wanted: list[int]) -> tuple[dict[int, int], int]:
    """Return how many latencies there are of each length, and how wide the buckets may be.

    A latency is as long as the last of its bucket, and no longer than the largest of its column.
    The width is 1 where that makes no difference. Raises InputError.
    """
    starts = {name: int(name) for name in table.rows if name.isdecimal()}
    # Those of noise are the beginnings of buckets too.
    maxima = table.cells("" if table.is_noise() else "max:", wanted)
    # Of 0 alone it is 0: then that bucket may reach to the largest.
    known = [largest for largest in maxima if largest is not None]
    width = math.gcd(*starts.values()) or 1 + max(known, default=-1)
    if starts and not width:
        raise InputError(f"{path} does not say how wide its buckets are: rtla prints the largest "
                         "latency without --no-summary")  # fmt: skip
    bins: dict[int, int] = {}
    exact = True
    for name, start in starts.items():
        for count, largest in zip(table.cells(name, wanted), maxima, strict=True):
            if not count:
                continue
            end = start + width - 1 if largest is None else min(start + width - 1, largest)
            if end < start:
                raise InputError(f"{path}: the histogram goes up to {start}, its max: is {end}: it "
                                 "is incomplete")  # fmt: skip
            bins[end] = bins.get(end, 0) + count
            exact = exact and end == start
    return bins, 1 if exact else width


def _latest(table: _Table) -> list[int]:
    """Return the columns of the latest latency that anything was counted of."""
    latest: list[int] = []
    for kind in _KINDS:
        columns = [at for at, name in enumerate(table.columns) if name.startswith(kind)]
        latest = latest or columns
        # A run that stopped at its first late thread has no user latency.
        counts = [row for row in table.rows if row.isdecimal() or row == "over:"]
        if any(table.total(row, columns) for row in counts):
            return columns
    return latest


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


def _tables(path: Path) -> Iterator[_Table]:
    """Yield the tables of single CPUs, one after the other; raises InputError."""
    reader = _Reader(path)
    for line in _unwrapped(unquoted(path), reader.columns):
        if _TITLE.match(line) and reader.table.rows:
            yield reader.table
            reader.table = _Table()
        else:
            reader.add_line(line)
    yield reader.table


@dataclass
class _Reader:
    """Reads the table of one run."""

    path: Path
    table: _Table = field(default_factory=_Table)

    def columns(self) -> int:
        """Return how many cells a row has."""
        return len(self.table.columns)

    def add_line(self, line: str) -> None:
        """Add the next line; raises InputError."""
        table = self.table
        if _NANOSECONDS.match(line):
            table.scale = 1
        elif (match := _LOST.match(line)) is not None:
            table.lost = "an unknown number of" if match[1][0] == "u" else match[1]
        elif _ALL.match(line):
            table.whole = True
        elif match := _HEADING.fullmatch(line):
            self._head(match)
        elif match := _ROW.fullmatch(line):
            _add_row(self.path, table, match[1], match[2].split())

    def _head(self, match: re.Match[str]) -> None:
        if self.table.columns:
            # Of a run without its title the unit would be lost.
            raise _several(self.path)
        if match[1] is None:
            raise InputError(f"{self.path} does not say which latency a row is of: rtla prints it "
                             "without --no-index")  # fmt: skip
        self.table.columns = match[2].split()
        if len(self.table.columns) > _MOST_COLUMNS:
            raise InputError(f"{self.path} has more than {_MOST_COLUMNS:,} columns")


def _several(path: Path) -> InputError:
    return InputError(
        f"{path} has several histograms of rtla without a title between them: split it with "
        f"`csplit -z {path} '/^ *Index/' '{{*}}'`, and give each its line with the unit"
    )


def _add_row(path: Path, table: _Table, name: str, cells: list[str]) -> None:
    """Add a row to the table; raises InputError."""
    if not table.columns:
        if name == "over:":
            raise InputError(f"{path} has neither its unit nor its columns: rtla prints them "
                             "without --no-header")  # fmt: skip
        return
    if name == "over:" and name in table.rows:
        raise _several(path)
    if table.whole or (name.isdecimal() and "over:" in table.rows):
        return
    if name in table.rows:
        raise _several(path)
    if len(cells) != len(table.columns):
        raise InputError(f"{path}: a row of the histogram has {len(cells)} of "
                         f"{len(table.columns)} columns: it is incomplete")  # fmt: skip
    table.rows[name] = cells


def _unwrapped(lines: Iterator[str], columns: Callable[[], int]) -> Iterator[str]:
    """Join what a mail wrapped: a heading whose columns go on, and rows with too few cells."""
    parts: list[str] = []
    # What may follow, and how many of it.
    more, room = _MORE_ROW, 0
    for text in lines:
        line = text.strip()
        words = len(line.split()) if room and more.fullmatch(line) else 0
        if 0 < words <= room:
            parts.append(line)
            room -= words
            continue
        if parts:
            yield " ".join(parts)
        parts, room = [line], 0
        if _HEADING.fullmatch(line):
            more, room = _MORE_HEADING, _MOST_COLUMNS
        elif row := _ROW.fullmatch(line):
            # After the yield: only now the caller has read the heading.
            more, room = _MORE_ROW, columns() - len(row[2].split())
    if parts:
        yield " ".join(parts)
