"""rtla timerlat hist: a histogram of interrupt, thread and user latency for each CPU.

Of the three the one that comes last is what an activation is late by: user where it was measured,
else thread. Without an option it is in microseconds; the heading says nanoseconds.
"""

from __future__ import annotations

import re
from pathlib import Path

from whylate.recording.foreign.lines import MOST_ACTIVATIONS, unquoted
from whylate.recording.foreign.model import ForeignError, ForeignRun, from_counts

_HEADING = re.compile(r"Index((?:\s+(?:IRQ|Thr|Usr)-\d+)+)\s*")
_ROW = re.compile(r"(\d+|over:|count:|max:|avg:)((?:\s+(?:\d+|-))+)\s*")


def read_text(path: Path) -> ForeignRun | None:
    """Read its histogram; None where it is not of rtla. Raises ForeignError."""
    scale, rows = _table(path)
    bins = {int(name): sum(found) for name, found in rows.items() if name.isdecimal()}
    if "count:" not in rows:
        return None
    counted, overflow = sum(rows["count:"]), sum(rows.get("over:", []))
    if sum(bins.values()) + overflow != counted:
        raise ForeignError(
            f"{path}: the histogram has {sum(bins.values()) + overflow} activations and says "
            f"{counted}: it is not whole"
        )
    if counted > MOST_ACTIVATIONS:
        raise ForeignError(f"{path} has more than {MOST_ACTIVATIONS:,} activations")
    lacks = ["the order in which the latencies came"]
    if overflow:
        lacks.append("how late the activations beyond the histogram's end were")
    largest = max(rows.get("max:", []), default=None)
    return ForeignRun(
        "rtla timerlat", from_counts([one * scale for one in bins], list(bins.values())), overflow,
        False, None, None if largest is None else largest * scale, 0, tuple(lacks),
    )  # fmt: skip


def _table(path: Path) -> tuple[int, dict[str, list[int]]]:
    """Return the unit in ns, and the rows of the histogram: of each CPU what is compared."""
    columns: list[int] = []
    scale = 1000
    rows: dict[str, list[int]] = {}
    for line in unquoted(path):
        if line.startswith("# Time unit is nanoseconds"):
            scale = 1
        elif match := _HEADING.fullmatch(line):
            columns = _columns(match[1].split())
        elif columns and (match := _ROW.fullmatch(line)):
            words = match[2].split()
            # A table that follows is of all CPUs together, and has fewer columns.
            if len(words) > max(columns):
                found = [0 if words[at] == "-" else int(words[at]) for at in columns]
                rows.setdefault(match[1], found)
    return scale, rows


def _columns(names: list[str]) -> list[int]:
    for kind in ("Usr", "Thr"):
        found = [at for at, name in enumerate(names) if name.startswith(kind)]
        if found:
            return found
    return list(range(len(names)))
