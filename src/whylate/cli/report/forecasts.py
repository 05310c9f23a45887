"""Forecasts that a recording tries, below what is printed of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from whylate.predict.store import forecasts_beside
from whylate.recording.reader import Recording

if TYPE_CHECKING:
    from whylate.predict.score import Outcome


def outcomes_beside(directory: Path, recording: Recording) -> list[Outcome]:
    """Return what the recordings beside one predicted of it, with what it measured."""
    forecasts = forecasts_beside(directory)
    if not forecasts:
        return []
    # All models of forecasts: slow to import, and few recordings try any.
    from whylate.predict.score import match_forecasts

    return match_forecasts(forecasts, [recording])


def print_any(outcomes: list[Outcome], console: Console) -> None:
    """Print outcomes, where there are any."""
    if outcomes:
        from whylate.predict.terminal import print_outcomes

        print_outcomes(outcomes, console)
