"""`perf stat -x,`: value, unit, event, (spread,) time, share of time, an event a line.

A value is that of one run, or with -r the mean of several, whose spread stands behind the event.
An event that shared its counter was counted for the share of the time that is printed, and is
scaled up to all of it (tools/perf/util/stat-display.c, counter scaling).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from whylate.recording.imported.model import InputError
from whylate.recording.imported.named import Named, NamedValue
from whylate.recording.imported.rows import Row, number

EVENT = re.compile(r"[A-Za-z][A-Za-z0-9_:./=,-]{0,80}")
#: What perf's events are in.
UNITS = frozenset(
    ("", "msec", "s", "ms", "us", "ns", "Joules", "J", "mJ", "uJ", "Watts", "mWatts", "W", "B",
     "Bytes", "KB", "MB", "GB", "KiB", "MiB", "GiB", "MB/s", "GB/s", "M", "MHz", "C", "%")
)  # fmt: skip


def read_rows(path: Path, rows: Sequence[Row]) -> Named | None:
    """Return its numbers; None where the rows are not its. Raises InputError."""
    # A line without a value has a metric, which belongs to an event, or the name of a group.
    events = [row for row in rows if row[1][0]]
    if not events:
        return None
    if events and all(_of_interval(cells) for _, cells in events):
        raise of_intervals(path)
    if not all(_is_event(cells) for _, cells in events):
        return None
    return Named(
        "perf stat", [NamedValue(line, cells[2], cells[0], cells[1]) for line, cells in events]
    )


def _of_interval(cells: Sequence[str]) -> bool:
    return number(cells[0]) is not None and _is_event(cells[1:])


def of_intervals(path: Path) -> InputError:
    """Return why counts of perf stat -I are no runs."""
    return InputError(f"{path} is of perf stat -I, which counts parts of one run: count each "
                      "run as a whole, without -I")  # fmt: skip


def _is_event(cells: Sequence[str]) -> bool:
    """Whether it is a row of perf's: value, unit, event, (spread in %,) time, share of time."""
    if len(cells) < 5:
        return False
    value, unit, event, *more = cells
    time, share = more[1:3] if more[0].endswith("%") and len(more) > 2 else more[:2]
    return (
        (number(value) is not None or value.startswith("<not "))
        and unit in UNITS
        and EVENT.fullmatch(event) is not None
        and time.isdecimal()
        and number(share) is not None
    )
