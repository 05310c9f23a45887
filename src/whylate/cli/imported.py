"""What imported recordings lack, where a verb asks for it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def refuse_imported(places: Iterable[Path], lacking: str) -> None:
    """Raise LackingError for the first place that is an imported recording.

    lacking: what the verb needs and such a recording does not have, and what to do.
    """
    from whylate.recording.errors import LackingError
    from whylate.recording.imported.recording import is_imported, read_about

    for place in places:
        if is_imported(place):
            tool = read_about(place).tool
            raise LackingError(f"{place} was imported ({tool}) and lacks {lacking}")
