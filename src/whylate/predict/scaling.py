"""Forecasts of how anything that was swept scales, by the Universal Scalability Law."""

from __future__ import annotations

import math
from collections.abc import Sequence

from whylate.predict.forecast import (
    Answer,
    Check,
    Forecast,
    NoModel,
    Predict,
    Prediction,
    check_by_leaving_out,
)
from whylate.predict.origin import far_text, origin_fields
from whylate.predict.sweep import Sweep
from whylate.predict.workloads import read_sweeps
from whylate.recording.reader import Recording
from whylate.stats.scaling.universal import UnfitError, fit_universal

MODEL = "universal scalability law"
_SUPPOSES = (
    "X(n) = g n / (1 + a (n - 1) + b n (n - 1)): contention a and coherence b that do not change "
    "with n"
)


def predict_scaling(recording: Recording, numbers: Sequence[int]) -> Answer:
    """Predict the throughput with these numbers of threads or tasks.

    Raises LackingError where nothing like that was swept.
    """
    forecasts: list[Forecast] = []
    refused: list[NoModel] = []
    checks: list[Check] = []
    for sweep in read_sweeps(recording):
        try:
            forecasts += _forecasts(recording, sweep, numbers)
        except UnfitError as error:
            refused.append(NoModel(sweep.name, MODEL, _reason(str(error), sweep)))
            continue
        check = check_by_leaving_out(
            sweep.name, MODEL, sweep.counts, sweep.values, _predictor(sweep.sampling_sd)
        )
        checks += [] if check is None else [check]
    return Answer(str(recording.directory), forecasts, refused, checks)


def _forecasts(recording: Recording, sweep: Sweep, numbers: Sequence[int]) -> list[Forecast]:
    law = fit_universal(sweep.counts, sweep.values, sweep.sampling_sd)
    parameters = {"alone": law.alone, "contention": law.contention, "coherence": law.coherence}
    if law.peak is not None:
        parameters["peak_at"] = law.peak
    made = []
    for at in numbers:
        low, high = law.interval(at)
        made.append(
            Forecast(
                **origin_fields(recording),
                model=MODEL,
                series=sweep.name,
                quantity=sweep.quantity,
                axis=sweep.axis,
                at=at,
                value=law.throughput(at),
                low=low,
                high=None if math.isinf(high) else high,
                supposes=[_SUPPOSES, *far_text(at, max(sweep.counts), sweep.axis)],
                fitted_to=list(sweep.counts),
                parameters=parameters,
            )
        )
    return made


def _predictor(sampling_sd: float) -> Predict:
    def predict(places: tuple[int, ...], values: tuple[float, ...], at: int) -> Prediction:
        law = fit_universal(places, values, sampling_sd)
        return Prediction(law.throughput(at), *law.interval(at))

    return predict


def _reason(reason: str, sweep: Sweep) -> str:
    return f"{reason} ({sweep.reason})" if sweep.reason else reason
