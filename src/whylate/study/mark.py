"""The file by which a study is known."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

PLAN = "study.json"
#: Directories between a study and a recording: runs, board, load, variant, round.
_DEPTH = 5


def study_above(paths: Iterable[Path]) -> Path | None:
    """Return the study that has one of these recordings; None if none has."""
    for path in paths:
        for above in list(path.resolve().parents)[:_DEPTH]:
            if (above / PLAN).is_file():
                return above
    return None
