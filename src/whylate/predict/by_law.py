"""Forecasts of sweeps by a law that is fitted to each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from whylate.predict.forecast import Answer, Forecast, NoModel, Prediction, check_by_leaving_out
from whylate.predict.laws import Laws
from whylate.predict.sweep import Sweep
from whylate.recording.reader import Recording

_Law = TypeVar("_Law")


def answer_by_law(
    recording: Recording,
    sweeps: Iterable[Sweep],
    model: str,
    fit: Callable[[Sequence[int], Sequence[float], float], tuple[_Law, Laws]],
    expect: Callable[[Sequence[int], Sequence[float], int, float], Prediction],
    forecast: Callable[[Sweep, _Law, Laws], Iterable[Forecast]],
) -> Answer:
    """Return the forecasts of each sweep that the law fits, and how well it predicts each place.

    fit: raises ValueError where the law does not fit, which is why there is no model. expect: what
    the law fitted to other places expects at one, for the check.
    """
    answer = Answer(str(recording.directory), [])
    for sweep in sweeps:

        def predict(
            places: tuple[int, ...], values: tuple[float, ...], at: int, sweep: Sweep = sweep
        ) -> Prediction:
            return expect(places, values, at, sweep.sampling_sd)

        try:
            law, laws = fit(sweep.counts, sweep.values, sweep.sampling_sd)
        except ValueError as error:
            answer.no_model.append(NoModel(sweep.label, model, sweep.with_reason(str(error))))
            continue
        answer.forecasts.extend(forecast(sweep, law, laws))
        check = check_by_leaving_out(sweep.label, model, sweep.counts, sweep.values, predict)
        answer.checks.extend([] if check is None else [check])
    return answer
