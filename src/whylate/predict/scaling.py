"""Forecasts of how anything that was swept scales, by the Universal Scalability Law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whylate.predict.forecast import (
    Answer,
    Forecast,
    NoModel,
    Prediction,
    check_by_leaving_out,
)
from whylate.predict.origin import far_text, sweep_forecast
from whylate.predict.sweep import Sweep
from whylate.predict.workloads import read_sweeps
from whylate.recording.reader import Recording
from whylate.stats.scaling.coherence import CoherentNetwork, fit_coherent
from whylate.stats.scaling.universal import MOST_MISFIT, UnfitError, Universal, fit_universal

MODEL = "universal scalability law"
_SUPPOSES = (
    "X(n) = g n / (1 + a (n - 1) + b n (n - 1)): contention a and coherence b that do not change "
    "with n"
)


_SPANS = "the interval spans the closed network too, which fits as well and scales differently"


@dataclass(frozen=True)
class Laws:
    """The law, and the closed network where that fits as well."""

    law: Universal
    network: CoherentNetwork | None

    def expect(self, at: int) -> Prediction:
        """Return the value by the law, and an interval that spans both.

        Within the numbers that were measured they agree; beyond, the network saturates where the
        law comes down, and the measurements do not decide between them.
        """
        low, high = self.law.interval(at)
        if self.network is not None:
            other_low, other_high = self.network.interval(at)
            low, high = min(low, other_low), max(high, other_high)
        return Prediction(self.law.throughput(at), low, high)


def fit_laws(places: Sequence[int], values: Sequence[float], sampling_sd: float) -> Laws:
    """Return the law, and the closed network where that fits too; raises UnfitError."""
    law = fit_universal(places, values, sampling_sd)
    network = fit_coherent(places, values, sampling_sd)
    return Laws(law, network if network.fit.misfit <= MOST_MISFIT else None)


def predict_scaling(recording: Recording, numbers: Sequence[int]) -> Answer:
    """Predict the throughput with these numbers of threads or tasks.

    Raises LackingError where nothing like that was swept.
    """
    answer = Answer(str(recording.directory), [])
    for sweep in read_sweeps(recording):

        def predict(
            places: tuple[int, ...], values: tuple[float, ...], at: int, sweep: Sweep = sweep
        ) -> Prediction:
            return fit_laws(places, values, sweep.sampling_sd).expect(at)

        try:
            laws = fit_laws(sweep.counts, sweep.values, sweep.sampling_sd)
        except UnfitError as error:
            answer.no_model.append(NoModel(sweep.name, MODEL, sweep.with_reason(str(error))))
            continue
        answer.forecasts.extend(_forecast(recording, sweep, laws, at) for at in numbers)
        check = check_by_leaving_out(sweep.name, MODEL, sweep.counts, sweep.values, predict)
        answer.checks.extend([] if check is None else [check])
    return answer


def _forecast(recording: Recording, sweep: Sweep, laws: Laws, at: int) -> Forecast:
    law, expected = laws.law, laws.expect(at)
    parameters = {"alone": law.alone, "contention": law.contention, "coherence": law.coherence}
    if law.peak is not None:
        parameters["peak_at"] = law.peak
    spans = [] if laws.network is None else [_SPANS]
    return sweep_forecast(
        recording,
        sweep,
        MODEL,
        at,
        expected,
        supposes=[_SUPPOSES, *far_text(max(sweep.counts), sweep.axis, at), *spans],
        parameters=parameters,
    )
