"""Forecasts that the runs of a study try."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whylate.predict.score import Outcome, match_forecasts
from whylate.predict.store import forecasts_beside
from whylate.recording.reader import open_recording
from whylate.study.model import FinishedRun


def study_outcomes(directory: Path, done: Sequence[FinishedRun]) -> list[Outcome]:
    """Return what was predicted of runs beside what they measured; raises RecordingError.

    Forecasts are those of recordings beside the study.
    """
    forecasts = forecasts_beside(directory)
    if not forecasts:
        return []
    recordings = [
        open_recording(directory / run.recording)
        for run in done
        if run.recording and not run.failed
    ]
    return match_forecasts(forecasts, recordings)
