"""How forecasts did: predicted beside measured, and how often the intervals held."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from whylate.predict.forecast import LEVEL, Forecast
from whylate.predict.removal import AXIS, SERIES, measured_removal
from whylate.predict.store import read_forecasts
from whylate.predict.workloads import read_measured
from whylate.predict.workloads.wakeup import condition_of
from whylate.recording.errors import RecordingError
from whylate.recording.manifest import MANIFEST
from whylate.recording.reader import Recording, open_recording
from whylate.stats.limits import binomial_limits

#: Recordings lie in a directory, in its directories, or in studies (runs/BOARD/LOAD/VARIANT/ROUND).
_DEEPEST = 7
_MOST_RECORDINGS = 20_000


class Outcome(msgspec.Struct, frozen=True):
    """A forecast beside what was measured after it. ratio: measured to predicted; null to 0."""

    forecast: Forecast
    recording: str
    measured: float
    holds: bool
    ratio: float | None


class Score(msgspec.Struct, frozen=True):
    """The forecasts of all recordings in a directory.

    made: forecasts. waiting: those that nothing was measured for. held: outcomes whose interval
    held; low, high: the 95 % interval of that share (Clopper and Pearson 1934); null without any.
    unread: recordings that could not be read, and why.
    """

    directory: str
    made: int
    waiting: int
    outcomes: list[Outcome]
    held: int
    low: float | None = None
    high: float | None = None
    unread: dict[str, str] = {}


def score_forecasts(directory: Path) -> Score:
    """Look up what was measured for each forecast of the recordings in a directory.

    A measurement counts if it is of the same board and was made after the forecast. Raises
    RecordingError where there is no recording.
    """
    forecasts: list[Forecast] = []
    recordings: list[Recording] = []
    unread: dict[str, str] = {}
    paths = list(find_recordings(directory))
    if not paths:
        raise RecordingError(f"{directory} has no recordings: name the directory that they are in")
    for path in paths:
        try:
            forecasts += read_forecasts(path)
            recording = open_recording(path)
            recordings.append(recording)
        except RecordingError as error:
            unread[str(path)] = str(error)
    outcomes = match_forecasts(forecasts, recordings)
    tried = {id(outcome.forecast) for outcome in outcomes}
    held = sum(outcome.holds for outcome in outcomes)
    low, high = _share_limits(held, len(outcomes))
    return Score(
        str(directory),
        made=len(forecasts),
        waiting=sum(id(forecast) not in tried for forecast in forecasts),
        outcomes=outcomes,
        held=held,
        low=low,
        high=high,
        unread=unread,
    )


def match_forecasts(
    forecasts: Sequence[Forecast], recordings: Sequence[Recording]
) -> list[Outcome]:
    """Return each forecast with what a later recording of its board measured there.

    Of forecasts of one thing by one model from one recording, the last before the measurement
    counts.
    """
    waiting: dict[tuple[object, ...], list[Forecast]] = defaultdict(list)
    for forecast in forecasts:
        waiting[_place(forecast)].append(forecast)
    outcomes = []
    quantities = {forecast.quantity for forecast in forecasts}
    conditions = {forecast.condition for forecast in forecasts}
    for recording in recordings:
        plan = recording.manifest.plan
        # Samples of hours take a while to read.
        if not forecasts or (plan.activations and condition_of(plan) not in conditions - {""}):
            continue
        made_at = _moment(recording.manifest.created)
        for key, (value, is_bound) in _measured(recording, quantities).items():
            before = [each for each in waiting.get(key, ()) if _moment(each.created) < made_at]
            outcomes += _outcomes(before, recording, value, is_bound=is_bound)
    return outcomes


def match_removal(forecasts: Sequence[Forecast], recording: Recording) -> list[Outcome]:
    """Return forecasts of a removed cause with what a run measured that is known to try them."""
    made_at = _moment(recording.manifest.created)
    measured = measured_removal(recording, {each.quantity for each in forecasts})
    outcomes = []
    for quantity, (value, is_bound) in measured.items():
        before = [
            forecast
            for forecast in forecasts
            if forecast.quantity == quantity and _moment(forecast.created) < made_at
        ]
        outcomes += _outcomes(before, recording, value, is_bound=is_bound)
    return outcomes


def _outcomes(
    before: Sequence[Forecast], recording: Recording, value: float, *, is_bound: bool
) -> list[Outcome]:
    """Return the last forecasts of one thing beside a measured value, or a lower bound of it."""
    last = {(forecast.model, forecast.source_created): forecast for forecast in before}
    return [
        Outcome(
            forecast,
            recording.directory.name,
            value,
            holds=forecast.holds(value),
            ratio=value / forecast.value if forecast.value else None,
        )
        for forecast in last.values()
        # Of a lower bound within the interval it is not known whether that held.
        if not (is_bound and forecast.holds(value))
    ]


def find_recordings(directory: Path) -> Iterator[Path]:
    """Yield the recordings in a directory, itself among them, in the order of their names."""
    count = 0
    for folder, folders, files in os.walk(directory):
        folders.sort()
        path = Path(folder)
        if len(path.relative_to(directory).parts) >= _DEEPEST:
            folders.clear()
        if MANIFEST in files:
            folders.clear()
            count += 1
            yield path
        if count >= _MOST_RECORDINGS:
            return


def _place(forecast: Forecast) -> tuple[object, ...]:
    return (
        forecast.board,
        forecast.series,
        forecast.quantity,
        forecast.axis,
        forecast.at,
        # Of runs of that condition any change has been made.
        forecast.condition or forecast.change,
    )


def _measured(
    recording: Recording, quantities: Collection[str]
) -> dict[tuple[object, ...], tuple[float, bool]]:
    """Return what a recording measured, by the key of a forecast of it.

    Beside each value: whether it is a lower bound.
    """
    board, plan = recording.manifest.board, recording.manifest.plan
    if plan.activations is not None:
        condition, at = condition_of(plan), len(plan.measured_cpus)
        if not condition:
            return {}
        return {
            (board, SERIES, quantity, AXIS, at, condition): measured
            for quantity, measured in measured_removal(recording, quantities).items()
        }
    return {
        (board, sweep.name, sweep.quantity, sweep.axis, at, sweep.change): (value, False)
        for sweep in read_measured(recording)
        for at, value in sweep.measured.items()
    }


def _moment(text: str) -> datetime:
    """Return a time that a file has; long ago where it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _share_limits(held: int, made: int) -> tuple[float | None, float | None]:
    return binomial_limits(held, made, LEVEL) if made else (None, None)
