"""A forecast: what will be measured, between which values, and what that supposes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

from whylate.recording.bounds import Count

#: What an interval says of itself.
LEVEL = 0.95


class Forecast(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A value that a model expects of a measurement that was not made yet.

    series: what was swept, as "monotonic by libc". quantity: its key, with the unit. axis, at:
    where, as "threads" and 72. change: what is done differently, "" for nothing. condition: of the
    plan of runs that try it (whylate.predict.workloads.wakeup); "": any run of what was swept, or
    where something is changed an experiment alone. low, high: between which values a measurement
    lies, at 95 %; 0 and null: no bound. supposes: all that must hold.
    fitted_to: where the model was fitted. parameters: of the model. source: the recording, and
    when it was made. created: when the forecast was.
    """

    #: Of the lines of forecasts.jsonl.
    version: Literal[1] = 1
    created: str
    whylate: str
    board: str
    source: str
    source_created: str
    model: str
    series: str
    quantity: str
    axis: str
    at: Count
    change: str = ""
    condition: str = ""
    value: float
    low: float
    high: float | None
    level: float = LEVEL
    supposes: list[str]
    fitted_to: list[Count]
    parameters: dict[str, float] = {}

    def __post_init__(self) -> None:
        """Raise ValueError for a value that is none, or outside its own interval."""
        numbers = [self.value, self.low, *self.parameters.values()]
        numbers += [] if self.high is None else [self.high]
        if not all(map(math.isfinite, numbers)) or not 0 < self.level < 1:
            raise ValueError("a forecast holds a number that is none")
        if not self.low <= self.value <= (math.inf if self.high is None else self.high):
            raise ValueError("the value of a forecast is outside its interval")

    def holds(self, measured: float) -> bool:
        """Whether a measured value lies in the interval."""
        return self.low <= measured <= (math.inf if self.high is None else self.high)


class NoModel(msgspec.Struct, frozen=True):
    """Why there is no forecast."""

    series: str
    model: str
    reason: str


class Check(msgspec.Struct, frozen=True):
    """How the model does where it was measured: each place predicted from all others.

    held: how many intervals held what was measured. worst: the largest factor between the two.
    """

    series: str
    model: str
    made: int
    held: int
    worst: float


@dataclass(frozen=True)
class Prediction:
    """What a model says of a place: a value, and between which values a measurement lies."""

    value: float
    low: float
    high: float


#: Makes predictions from places and values; raises ValueError with the reason.
Predict = Callable[[tuple[int, ...], tuple[float, ...], int], Prediction]


class Answer(msgspec.Struct, frozen=True):
    """What `whylate predict` prints."""

    recording: str
    forecasts: list[Forecast]
    no_model: list[NoModel] = []
    checks: list[Check] = []


def check_by_leaving_out(
    series: str, model: str, places: tuple[int, ...], values: tuple[float, ...], predict: Predict
) -> Check | None:
    """Predict each place from all others; None where that is too few for the model."""
    held, worst, made = 0, 1.0, 0
    for left_out, measured in zip(places, values, strict=True):
        kept = [pair for pair in zip(places, values, strict=True) if pair[0] != left_out]
        try:
            expected = predict(tuple(p for p, _ in kept), tuple(v for _, v in kept), left_out)
        except ValueError:
            continue
        made += 1
        held += expected.low <= measured <= expected.high
        worst = max(worst, measured / expected.value, expected.value / measured)
    return Check(series, model, made, held, worst) if made else None
