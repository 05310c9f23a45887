"""forecasts.jsonl in a recording: a line for each forecast that was made from it.

What was measured is never changed. Lines are only added; a forecast is not taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whylate.predict.forecast import Forecast
from whylate.recording.store.lines import append_lines, read_lines

NAME = "forecasts.jsonl"


def keep_forecasts(directory: Path, forecasts: Sequence[Forecast]) -> Path:
    """Add forecasts to those of a recording; raises DiskError, RecordingError."""
    path = directory / NAME
    if forecasts:
        append_lines(path, Forecast, forecasts)
    return path


def read_forecasts(directory: Path) -> list[Forecast]:
    """Return the forecasts of a recording, in the order in which they were made.

    Raises RecordingError where the file is damaged.
    """
    return read_lines(directory / NAME, Forecast)[0]
