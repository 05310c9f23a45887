"""lmbench's lat_ctx: a heading `"size=0k ovr=2.02`, then processes and µs a line.

The time of a switch is the median of its repetitions less the overhead (ovr) that it measured, in
microseconds with two decimals (src/lat_ctx.c of lmbench 3).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from whylate.recording.imported.model import InputError
from whylate.recording.imported.named import Named, NamedValue
from whylate.recording.imported.rows import LAT_CTX, Row, number, short

_POSITION = re.compile(r"[1-9][0-9]{0,5}")


def read_rows(path: Path, rows: Sequence[Row]) -> Named | None:
    """Return its numbers; None where the rows are not its. Raises InputError."""
    if not LAT_CTX.match(rows[0][1][0]):
        return None
    values, size = [], ""
    for line, cells in rows:
        if heading := LAT_CTX.match(cells[0]):
            size = heading[1]
        elif len(cells) == 2 and _POSITION.fullmatch(cells[0]) and number(cells[1]) is not None:
            values.append(NamedValue(line, f"{cells[0]} size={size}", cells[1]))
        else:
            raise InputError(f"{path}, line {line}: {short(' '.join(cells))} is not a row of "
                             "lat_ctx, which has processes and µs: remove it")  # fmt: skip
    if not values:
        raise InputError(f"{path} has no numbers below the size of lat_ctx")
    return Named("lat_ctx", values)
