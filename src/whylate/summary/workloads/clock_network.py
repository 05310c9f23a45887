"""Fit a closed network to how the throughput of a clock's readers grows with their number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from whylate.recording.repetitions import Repetitions
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.clock import ClockPoint
from whylate.stats.closed_network import Network, fit
from whylate.summary.benchmarks.model import NetworkFigures, Prediction
from whylate.summary.benchmarks.summarizer import Floats, median_of

#: What is predicted, in multiples of the most threads that were measured.
_BEYOND = (2, 4, 8, 16)


def fit_networks(
    points: Sequence[BenchmarkPoint | None],
    rows: Repetitions,
    predict: Sequence[int] = (),
    *,
    cpus: int,
    host_cpus: int | None = None,
) -> list[NetworkFigures]:
    """Return a network for each clock that several numbers of threads have read.

    points: None where one was refused. predict: for how many threads the throughput is predicted,
    where that many were not measured; none: for more than were. cpus: those that threads may be put
    on. host_cpus: those on which the CPUs of a virtual board take turns. It is fitted to as many
    threads as can run at once: more of them share CPUs, and not the clock alone.
    """
    fits = []
    for name, members in _clocks(points).items():
        per_round = _per_round(members, rows)
        at_once = [min(_cpus(point, cpus), host_cpus or cpus) for _, point in members]
        fitted = [at for (at, point), most in zip(members, at_once, strict=True)
                  if point.threads <= most]  # fmt: skip
        # Of a round in which nothing was done there is nothing to fit.
        idle = any(not per_round[at] or min(per_round[at]) <= 0 for at, _ in members)
        if idle or len({points[at].threads for at in fitted}) < 2:  # type: ignore[union-attr]
            continue
        fits.append(_network(name, members, fitted, per_round, predict))
    return fits


def _clocks(points: Sequence[BenchmarkPoint | None]) -> dict[str, list[tuple[int, ClockPoint]]]:
    """Return the points of each clock, by all but their number of threads."""
    groups: dict[str, list[tuple[int, ClockPoint]]] = defaultdict(list)
    for index, point in enumerate(points):
        if isinstance(point, ClockPoint):
            name = f"{point.clock} by {point.how}"
            if point.how == "device":
                name = f"device, service {point.service_ns} ns, think {point.think_ns} ns"
            groups[name].append((index, point))
    return groups


def _cpus(point: ClockPoint, cpus: int) -> int:
    """Return how many threads the CPUs of a point can run at once."""
    return len(set(point.cpus)) or cpus


def _per_round(
    members: Sequence[tuple[int, ClockPoint]], rows: Repetitions
) -> dict[int, list[float]]:
    return {
        at: throughputs(own).tolist() if (own := rows.where(rows.column("point") == at)).n else []
        for at, _ in members
    }


def _network(
    name: str,
    members: Sequence[tuple[int, ClockPoint]],
    fitted: Sequence[int],
    per_round: dict[int, list[float]],
    predict: Sequence[int],
) -> NetworkFigures:
    threads = {at: point.threads for at, point in members}
    counts = [threads[at] for at in fitted]
    rounds = min(len(per_round[at]) for at in fitted)
    by_round = [fit(counts, [per_round[at][turn] for at in fitted]) for turn in range(rounds)]
    beyond = [at for at in threads if at not in fitted and per_round[at]]
    wanted = sorted(set(predict)) or [max(threads.values()) * by for by in _BEYOND]
    off = {at: _off(by_round, threads[at], per_round[at]) for at in (*fitted, *beyond)}
    return NetworkFigures(
        name=name,
        threads=sorted(counts),
        # Calls a µs: the times of the network are in µs.
        think_ns=median_of([1e3 * network.think for network in by_round]),
        service_ns=median_of([1e3 * network.service for network in by_round]),
        predicted=[
            Prediction(n, median_of([network.throughput(n) for network in by_round]))
            for n in wanted
            if n not in threads.values()
        ],
        misfit=max(off[at] for at in fitted) if len(set(counts)) > 2 else None,
        off=max((off[at] for at in beyond), default=None),
    )


def _off(by_round: Sequence[Network], threads: int, measured: Sequence[float]) -> float:
    predicted = float(np.median([network.throughput(threads) for network in by_round]))
    ratio = float(np.median(measured)) / predicted
    return max(ratio, 1 / ratio)


def throughputs(rows: Repetitions) -> Floats:
    """Return the calls per µs of all threads together in each turn, shape (turns,).

    Divided by the time of the thread that ran longest: a thread that waited for a CPU first may
    have begun later, and did nothing before.
    """
    places = rows.column("turn") * (1 << 20) + rows.column("repetition")
    different, first, which = np.unique(places, return_index=True, return_inverse=True)
    calls = np.bincount(which, rows.column("calls").astype(np.float64))
    longest = np.zeros(len(different))
    np.maximum.at(longest, which, rows.column("ns").astype(np.float64))
    rates = calls / np.maximum(longest, 1) * 1e3
    turns = rows.column("turn")[first]
    return np.array([np.median(rates[turns == turn]) for turn in np.unique(turns)])
