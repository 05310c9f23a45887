"""The box that ministat printed: a summary of the values of each file, without the values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from whylate.recording.imported.lines import unquoted
from whylate.recording.imported.model import InputError
from whylate.recording.imported.rows import MOST_LINE, number

#: A line of ministat's box: mark, n, minimum, maximum, median, average, standard deviation.
_FIGURE = r"([-+]?(?:[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?|nan|inf))"
_MINISTAT = re.compile(
    rf"\s*([x+*%#@O])\s+([0-9]+)(?:\s+{_FIGURE}){{3}}\s+{_FIGURE}\s+{_FIGURE}\s*"
)
_MOST_N = 10**9


@dataclass(frozen=True)
class Box:
    """What ministat printed of the values of one file; sd: the standard deviation."""

    n: int
    mean: float
    sd: float


def read_boxes(path: Path) -> list[Box]:
    """Read what ministat printed, a row for each of its files; none where it is no such table.

    Raises InputError for what cannot be read.
    """
    boxes: dict[str, Box] = {}
    for at, line in enumerate(unquoted(path), 1):
        match = _MINISTAT.fullmatch(line) if len(line) <= MOST_LINE else None
        if match is None:
            continue
        if match[1] in boxes:
            raise InputError(f"{path}, line {at} is a second row {match[1]}: put each of "
                             "ministat's boxes in a file of its own")  # fmt: skip
        # So many digits, for int() refuses thousands of them.
        n = int(match[2]) if len(match[2]) < 12 else 0
        mean, sd = number(match[4]), number(match[5])
        if not 2 <= n <= _MOST_N or mean is None or sd is None or sd < 0:
            raise InputError(f"{path}, line {at} cannot be compared: it takes 2 to "
                             f"{_MOST_N:,} values, their mean and deviation")  # fmt: skip
        boxes[match[1]] = Box(n, mean, sd)
    return list(boxes.values()) if len(boxes) > 1 else []
