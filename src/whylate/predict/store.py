"""forecasts.jsonl in a recording: a line for each forecast that was made from it.

What was measured is never changed. Lines are only added; a forecast is not taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from whylate.predict.forecast import Forecast
from whylate.recording.errors import RecordingError
from whylate.recording.store.lines import append_lines, read_lines

NAME = "forecasts.jsonl"
#: Beside a recording no more are looked at.
_MOST_RECORDINGS = 20_000


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


def forecasts_beside(directory: Path) -> list[Forecast]:
    """Return the forecasts of the recordings beside a recording or a study.

    Of a study in studies/ also those in recordings/ beside that. What cannot be read is left out:
    it has no part in what is shown.
    """
    parent = directory.resolve().parent
    forecasts: list[Forecast] = []
    for folder in dict.fromkeys((parent, parent.parent / "recordings")):
        for path in islice(sorted(folder.glob(f"*/{NAME}")), _MOST_RECORDINGS):
            with suppress(RecordingError):
                forecasts += read_forecasts(path.parent)
    return forecasts
