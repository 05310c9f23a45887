"""Forecasts for readers of one device: each by itself, and where one reading serves all who wait.

The device is a closed network with a coherence term (whylate.stats.scaling.coherence).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whylate.predict.by_law import answer_by_law
from whylate.predict.forecast import Answer, Forecast, Prediction
from whylate.predict.laws import Laws, expect_by_network, fit_network
from whylate.predict.origin import far_text, sweep_forecast
from whylate.predict.sweep import Sweep
from whylate.predict.workloads import read_sweeps, reads_one_device
from whylate.predict.workloads.clock import SHARED, STRICT, cpus_of
from whylate.recording.errors import LackingError
from whylate.recording.reader import Recording
from whylate.stats.scaling.coherence import CoherentNetwork, Sharing
from whylate.stats.shared_readings import relaxed_throughput, strict_throughput

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
    "publishing a reading takes no time beside the coherence term",
    "who waits polls on a CPU of its own and never loses patience",
]


@dataclass(frozen=True)
class _Form:
    """A form of remedies/shared_read.h: its throughput, and what that supposes."""

    sharing: Sharing
    supposes: str


#: By what is done differently.
_FORMS = {
    SHARED: _Form(
        relaxed_throughput,
        "who finds the device idle reads it; who finds it busy takes what is being read",
    ),
    STRICT: _Form(
        strict_throughput,
        "strict: who finds the device busy waits for the next reading, which begins at once",
    ),
}


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
        return [made for at in cpus for made in _forms(recording, sweep, network, laws, at)]

    return answer_by_law(recording, sweeps, MODEL, fit_network, expect_by_network, forecast)


def _forms(
    recording: Recording, sweep: Sweep, network: CoherentNetwork, laws: Laws, at: int
) -> list[Forecast]:
    """Return what is expected as the readers are, and if they shared readings in each form."""
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
    there = cpus_of(recording.manifest.plan)
    polling = [*_SHARED_SUPPOSES]
    if at > there:
        polling.append(
            f"so many CPUs: this board has {there}, where threads that wait take the CPU from the "
            "one that they wait for, and share far less"
        )
    # Readers that think for no time have nothing to do with what was shared.
    for change, form in _FORMS.items() if network.think > 0 else ():
        shared = Prediction(
            network.shared_throughput(at, form.sharing), *network.shared_interval(at, form.sharing)
        )
        forecasts.append(
            sweep_forecast(
                recording,
                sweep,
                MODEL,
                at,
                shared,
                supposes=[*supposes, form.supposes, *polling],
                parameters=parameters,
                change=change,
            )
        )
    return forecasts
