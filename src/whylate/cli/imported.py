"""Verbs that imported recordings have too little data for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from whylate.recording.errors import LackingError
from whylate.recording.imported.recording import is_imported, read_about


def refuse_imported(paths: Iterable[Path], lacking: str) -> None:
    """Raise LackingError for the first path that is an imported recording.

    lacking: what the verb needs and an imported recording does not have, and what to do.
    """
    for path in paths:
        if is_imported(path):
            tool = read_about(path).tool
            raise LackingError(f"{path} was imported ({tool}) and lacks {lacking}")
