"""Forecasts for readers of one device: each by itself, and where one reading serves all who wait.

The device is a closed network with a coherence term (whylate.stats.scaling.coherence).
"""

from __future__ import annotations

from collections.abc import Sequence

from whylate.predict.by_law import answer_by_law
from whylate.predict.forecast import Answer, Forecast, Prediction
from whylate.predict.laws import Laws, expect_by_network, fit_network
from whylate.predict.origin import far_text, sweep_forecast
from whylate.predict.sweep import Sweep
from whylate.predict.workloads import read_sweeps, reads_one_device
from whylate.predict.workloads.clock import SHARED
from whylate.recording.errors import LackingError
from whylate.recording.reader import Recording
from whylate.stats.scaling.coherence import CoherentNetwork

MODEL = "closed network"
_SUPPOSES = [
    "all readers wait for one device, which serves one after the other",
    "the time between two calls does not change with the number of CPUs",
]
_COHERENCE = "each further CPU makes a call longer by the same coherence term"
_NO_COHERENCE = (
    "a call takes no longer with more CPUs: with a coherence term the fit is not significantly "
    "better"
)
_TOO_FEW_FOR_COHERENCE = (
    "a call takes no longer with more CPUs: to fit a coherence term takes four numbers of threads"
)
_SHARED_SUPPOSES = [
    "who finds the device idle reads it; who finds it busy takes what is being read",
    "publishing a reading takes no time beside the coherence term",
]


def predict_shared_device(recording: Recording, cpus: Sequence[int]) -> Answer:
    """Predict the calls of these numbers of CPUs together, without and with shared readings.

    Raises LackingError for a recording that is not of clock reads.
    """
    if not reads_one_device(recording):
        raise LackingError(
            f"no model: {recording.directory} is not of clock reads; whylate bench clock "
            "--threads 1,2,4,8 records them"
        )
    # Who shares readings is no network of readers that each wait for their own.
    sweeps = [sweep for sweep in read_sweeps(recording) if not sweep.change]

    def forecast(sweep: Sweep, network: CoherentNetwork, laws: Laws) -> list[Forecast]:
        return [made for at in cpus for made in _pair(recording, sweep, network, laws, at)]

    return answer_by_law(recording, sweeps, MODEL, fit_network, expect_by_network, forecast)


def _pair(
    recording: Recording, sweep: Sweep, network: CoherentNetwork, laws: Laws, at: int
) -> list[Forecast]:
    """Return what is expected as the readers are, and if they shared readings."""
    coherence = _COHERENCE if network.coherence else _NO_COHERENCE
    if network.coherence is None:
        coherence = _TOO_FEW_FOR_COHERENCE
    supposes = [*_SUPPOSES, coherence, *far_text(max(sweep.counts), "CPUs", at)]
    # The throughput is in calls per µs, and so the times are in µs.
    parameters = {"think_ns": 1e3 * network.think, "service_ns": 1e3 * network.service}
    if network.coherence is not None:
        parameters["coherence_per_cpu"] = network.coherence
    forecasts = [
        sweep_forecast(
            recording,
            sweep,
            MODEL,
            at,
            laws.expect(at, network.throughput(at)),
            supposes=[*supposes, *laws.spans],
            parameters=parameters,
        )
    ]
    # Readers that think for no time have nothing to do with what was shared.
    if network.think > 0:
        shared = Prediction(network.shared_throughput(at), *network.shared_interval(at))
        forecasts.append(
            sweep_forecast(
                recording,
                sweep,
                MODEL,
                at,
                shared,
                supposes=[*supposes, *_SHARED_SUPPOSES],
                parameters=parameters,
                change=SHARED,
            )
        )
    return forecasts
