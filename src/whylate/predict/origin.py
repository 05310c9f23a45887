"""Where forecasts come from: a sweep of a recording."""

from __future__ import annotations

import math

from whylate import __version__
from whylate.predict.forecast import Forecast, Prediction
from whylate.predict.sweep import Sweep
from whylate.recording.moments import now_text
from whylate.recording.reader import Recording


def sweep_forecast(
    recording: Recording,
    sweep: Sweep,
    model: str,
    at: int,
    expected: Prediction,
    *,
    supposes: list[str],
    parameters: dict[str, float],
    change: str = "",
) -> Forecast:
    """Return a forecast of what a sweep would have at another number."""
    return Forecast(
        created=now_text(),
        whylate=__version__,
        board=recording.manifest.board,
        source=recording.directory.name,
        source_created=recording.manifest.created,
        model=model,
        series=sweep.name,
        quantity=sweep.quantity,
        axis=sweep.axis,
        at=at,
        change=change,
        value=expected.value,
        low=expected.low,
        high=None if math.isinf(expected.high) else expected.high,
        supposes=supposes,
        fitted_to=list(sweep.counts),
        parameters=parameters,
    )


def far_text(most: int, axis: str, at: int) -> list[str]:
    """Return what a forecast beyond the measured numbers supposes."""
    return [f"nothing new begins with more than {most} {axis}"] if at > most else []
