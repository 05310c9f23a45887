"""Forecasts for readers of one device: each by itself, and where one reading serves all who wait.

The device is a closed network with a coherence term (whylate.stats.scaling.coherence).
"""

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
from whylate.predict.workloads import read_sweeps, reads_one_device
from whylate.recording.errors import LackingError
from whylate.recording.reader import Recording
from whylate.stats.scaling.coherence import CoherentNetwork, fit_coherent

MODEL = "closed network"
SHARED = "one reading serves all who wait"
#: A network that is off by a larger factor somewhere is refused.
_MOST_MISFIT = 1.1
_SUPPOSES = [
    "all readers wait for one device, which serves one after the other",
    "the time between two calls does not change with the number of CPUs",
]
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
    forecasts: list[Forecast] = []
    refused: list[NoModel] = []
    checks: list[Check] = []
    for sweep in read_sweeps(recording):
        try:
            network = _fit(sweep.counts, sweep.values, sweep.sampling_sd)
        except ValueError as error:
            reason = f"{error} ({sweep.reason})" if sweep.reason else str(error)
            refused.append(NoModel(sweep.name, MODEL, reason))
            continue
        for at in cpus:
            forecasts += _pair(recording, sweep, network, at)
        check = check_by_leaving_out(
            sweep.name, MODEL, sweep.counts, sweep.values, _predictor(sweep.sampling_sd)
        )
        checks += [] if check is None else [check]
    return Answer(str(recording.directory), forecasts, refused, checks)


def _fit(counts: Sequence[int], values: Sequence[float], sampling_sd: float) -> CoherentNetwork:
    network = fit_coherent(counts, values, sampling_sd)
    if network.fit.misfit > _MOST_MISFIT:
        raise ValueError(
            f"the network is off by × {network.fit.misfit:.2f} at one of the numbers that it was "
            f"fitted to; with more than × {_MOST_MISFIT} it is refused"
        )
    return network


def _pair(recording: Recording, sweep: Sweep, network: CoherentNetwork, at: int) -> list[Forecast]:
    coherence = (
        ["moving a line takes no longer with more CPUs: for a coherence term four numbers of "
         "threads are needed"]
        if network.coherence is None
        else ["each further CPU makes a call longer by the same coherence term"]
    )  # fmt: skip
    supposes = [*_SUPPOSES, *coherence, *far_text(at, max(sweep.counts), "CPUs")]
    # The throughput is in calls per µs, and so the times are in µs.
    parameters = {"think_ns": 1e3 * network.think, "service_ns": 1e3 * network.service}
    if network.coherence is not None:
        parameters["coherence_per_cpu"] = network.coherence

    def made(change: str, value: float, ends: tuple[float, float], more: list[str]) -> Forecast:
        return Forecast(
            **origin_fields(recording),
            model=MODEL,
            series=sweep.name,
            quantity=sweep.quantity,
            axis=sweep.axis,
            at=at,
            change=change,
            value=value,
            low=ends[0],
            high=None if math.isinf(ends[1]) else ends[1],
            supposes=[*supposes, *more],
            fitted_to=list(sweep.counts),
            parameters=parameters,
        )

    direct = made("", network.throughput(at), network.interval(at), [])
    if network.think <= 0:
        return [direct]
    shared = network.shared_throughput(at)
    return [direct, made(SHARED, shared, network.shared_interval(at), _SHARED_SUPPOSES)]


def _predictor(sampling_sd: float) -> Predict:
    def predict(places: tuple[int, ...], values: tuple[float, ...], at: int) -> Prediction:
        network = _fit(places, values, sampling_sd)
        return Prediction(network.throughput(at), *network.interval(at))

    return predict
