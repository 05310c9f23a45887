"""Results of a benchmark that can be interrupted: a line of JSON each, gone on with next time."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class ResultBook:
    """Rows by part, kept in a file; those of another `stamp` (a build, options) are left out.

    A row is written when it is there, so that a killed benchmark loses the one under way.
    """

    def __init__(self, path: Path, stamp: Row) -> None:
        self._path = path
        self._rows: dict[str, list[Row]] = defaultdict(list)
        lines = path.read_text().splitlines() if path.exists() else []
        if not lines or json.loads(lines[0]) != stamp:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(stamp) + "\n")
            return
        for line in lines[1:]:
            row = json.loads(line)
            self._rows[row.pop("part")].append(row)

    def rows(self, part: str) -> list[Row]:
        """Return the rows of a part, in the order in which they came."""
        return self._rows[part]

    def numbers(self, part: str) -> set[int]:
        """Return the numbers of the repetitions of a part that are there."""
        return {row["number"] for row in self._rows[part]}

    def add(self, part: str, row: Row) -> None:
        """Keep a row."""
        self._rows[part].append(row)
        with self._path.open("a") as file:
            file.write(json.dumps({"part": part, **row}) + "\n")
