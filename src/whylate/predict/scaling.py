"""Forecasts of how anything that was swept scales, by the Universal Scalability Law."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.predict.by_law import answer_by_law
from whylate.predict.forecast import Answer, Forecast
from whylate.predict.laws import Laws, expect_by_law, fit_scaling
from whylate.predict.origin import far_text, sweep_forecast
from whylate.predict.sweep import Sweep
from whylate.predict.workloads import read_sweeps
from whylate.recording.reader import Recording
from whylate.stats.scaling.universal import Universal

MODEL = "universal scalability law"
_SUPPOSES = (
    "X(n) = g n / (1 + a (n - 1) + b n (n - 1)): contention a and coherence b that do not change "
    "with n"
)


def predict_scaling(recording: Recording, numbers: Sequence[int]) -> Answer:
    """Predict the throughput with these numbers of threads or tasks.

    Raises LackingError where nothing like that was swept.
    """

    def forecast(sweep: Sweep, law: Universal, laws: Laws) -> list[Forecast]:
        return [_forecast(recording, sweep, law, laws, at) for at in numbers]

    return answer_by_law(
        recording, read_sweeps(recording), MODEL, fit_scaling, expect_by_law, forecast
    )


def _forecast(recording: Recording, sweep: Sweep, law: Universal, laws: Laws, at: int) -> Forecast:
    parameters = {"alone": law.alone, "contention": law.contention, "coherence": law.coherence}
    if law.peak is not None:
        parameters["peak_at"] = law.peak
    return sweep_forecast(
        recording,
        sweep,
        MODEL,
        at,
        laws.expect(at, law.throughput(at)),
        supposes=[_SUPPOSES, *far_text(max(sweep.counts), sweep.axis, at), *laws.spans],
        parameters=parameters,
        change=sweep.change,
    )
