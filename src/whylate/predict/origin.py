"""Where a forecast comes from: the fields that forecasts of one recording share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from whylate import __version__
from whylate.recording.reader import Recording


def origin_fields(recording: Recording) -> dict[str, Any]:
    """Return when, by which version, and from which recording of which board."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "whylate": __version__,
        "board": recording.manifest.board,
        "source": recording.directory.name,
        "source_created": recording.manifest.created,
    }


def far_text(at: int, most: int, axis: str) -> list[str]:
    """Return what a forecast beyond the measured numbers supposes."""
    if at <= most:
        return []
    return [f"nothing new begins between {most} {axis}, the most that were measured, and {at}"]
