"""The figures of the benchmark `clock`, and the network that its readers form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from whylate.quantities import format_count, format_estimate, format_number
from whylate.recording.repetitions import Repetitions
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.clock import Clock, ClockPoint
from whylate.stats.closed_network import Network, fit, throughput
from whylate.summary.benchmarks.model import (
    Curve,
    Fact,
    Finding,
    Measured,
    NetworkFigures,
    PointFigures,
    Prediction,
    Remarks,
)
from whylate.summary.benchmarks.summarizer import (
    BenchmarkSummarizer,
    FigureKind,
    Floats,
    Measurement,
    median_of,
    median_of_turns,
)
from whylate.summary.facts import clock_source
from whylate.summary.model import Caution
from whylate.summary.workloads.clock_rows import clock_repetitions, throughputs
from whylate.summary.workloads.clock_sharing import (
    AGAINST_DIRECT,
    against_direct,
    sharing_facts,
    sharing_findings,
    sharing_notes,
    sharing_texts,
)

#: Readers share a clock where surely this part of a call and more is serialized.
_SHARED = 0.2
#: Fewer numbers of threads do not tell a shared clock from CPUs that slow each other down (two
#: threads of one core, a frequency that falls with the load).
_FEWEST_COUNTS = 3
#: A network whose misfit is a larger factor is refused.
_FITS = 1.1
_THROUGHPUT_PLOT = "calls per µs of all threads (dashed: the closed network that was fitted)"
#: Points of a drawn curve, at most.
_MOST_PLACES = 64
#: What is predicted, in multiples of the most threads that were measured.
_BEYOND = (2, 4, 8, 16)


class ClockSummarizer(BenchmarkSummarizer):
    """Time per call of one thread, and calls of all threads together."""

    title = "What reading a clock costs"
    counts_per = "call"
    swept = ("threads", "threads")
    positive = ("ns",)
    can_predict = True
    kinds: ClassVar[Mapping[str, FigureKind]] = {
        "ns_per_call": FigureKind("ns/call", "ns", plot="ns per call"),
        "calls_per_us": FigureKind("calls/µs", plot=_THROUGHPUT_PLOT),
        AGAINST_DIRECT: FigureKind("× direct", higher_is_better=True),
    }

    def invalid(self, rows: Repetitions) -> str | None:
        """Return why rows are invalid: without time, or without a call of any thread."""
        if not rows.column("calls").any():
            return super().invalid(rows) or "no thread made a call: use a longer --block"
        return super().invalid(rows)

    def measure(
        self, point: ClockPoint, rows: Repetitions, reports: Sequence[TurnReport]
    ) -> Measurement:
        """Return time per call and throughput, and steps back."""
        ns, calls = rows.column("ns").astype(float), rows.column("calls").astype(float)
        nature = next((report.nature for report in reports if report.nature is not None), None)
        checks = int(rows.column("checks").sum())
        # A thread that made no call while others had the CPUs has no time per call.
        called = calls > 0
        idle = int((~called).sum())
        facts: dict[str, Fact] = {
            **({"rows_without_a_call": idle} if idle else {}),
            "system_call": nature.system_call if nature is not None else None,
            "resolution_ns": nature.resolution_ns if nature is not None else None,
            "checks": checks,
            "backward_steps": int(rows.column("backward").sum()) if checks else None,
            "most_backward_ns": int(rows.column("most_backward_ns").max()) if checks else None,
            **sharing_facts(point, reports),
        }
        figures = {
            "ns_per_call": median_of_turns(rows.where(called), ns[called] / calls[called]),
            "calls_per_us": median_of(throughputs(rows)),
        }
        plan = self.manifest.plan.workload
        points = plan.points if isinstance(plan, Clock) else []
        times = against_direct(int(rows.column("point")[0]), points, self.repetitions)
        if times is not None:
            figures[AGAINST_DIRECT] = times
        return Measurement(figures, facts)

    def work(self, rows: Repetitions) -> Floats:
        """Return the calls of all threads of each row's repetition."""
        _, which = np.unique(clock_repetitions(rows), return_inverse=True)
        sums = np.bincount(which, rows.column("calls").astype(np.float64))
        return np.maximum(sums, 1)[which]

    @classmethod
    def texts(cls, facts: Mapping[str, Fact], note: str) -> dict[str, str]:
        """Return whether reading is a system call, and how often the clock stepped back."""
        del note
        made = facts.get("system_call")
        steps, checks = facts.get("backward_steps"), facts.get("checks")
        known = isinstance(steps, int) and isinstance(checks, int)
        return {
            "system call": "not known" if made is None else "yes" if made else "no",
            "steps back": f"{format_count(steps)} of {format_count(checks)}" if known else "–",  # type: ignore[arg-type]
            **sharing_texts(facts),
        }

    def remarks(self, points: Sequence[PointFigures], measured: Sequence[PointFigures]) -> Remarks:
        """Return how clocks were read, and the networks that their readers form."""
        plan, source = self.manifest.plan, clock_source(self.manifest)
        networks = fit_networks(
            [None if point.refused else point.point for point in points],
            self.repetitions,
            self.predict,
            cpus=len(plan.measured_cpus),
            host_cpus=plan.host_cpus,
        )
        calls = {point.facts.get("system_call") for point in points}
        names = ((True, "yes"), (False, "no"), (None, "not known"))
        return {
            "context": [f"the kernel's clock source {source or 'not known'}"],
            "conditions": {
                "system call": " and ".join(name for made, name in names if made in calls),
                "clock source": source or "not known",
            },
            "notes": [
                "Steps back: readings earlier than one that another thread had read before.",
                *sharing_notes(measured),
            ],
            "networks": networks,
            "models": [line for network in networks for line in network_lines(network)],
            "curves": _curves(points, networks),
            "findings": [
                *clock_findings(measured, networks, source),
                *sharing_findings(measured),
            ],
            "warnings": [*_idle_threads(measured), *_unpredicted(self.predict, networks)],
        }


def _curves(points: Sequence[PointFigures], networks: Sequence[NetworkFigures]) -> list[Curve]:
    """Return the throughput of each network over the measured numbers of threads."""
    threads = [int(point.place.value) for point in points if point.plots and point.place]
    if not threads:
        return []
    counts = range(min(threads), max(threads) + 1)
    step = max(1, len(counts) // _MOST_PLACES)
    curves = []
    for network in networks:
        think, service = network.think_ns.value / 1e3, network.service_ns.value / 1e3
        places: list[tuple[float, float]] = [
            (n, throughput(n, think, service)) for n in counts[::step]
        ]
        curves.append(Curve(_THROUGHPUT_PLOT, network.name, places))
    return curves


def _idle_threads(points: Sequence[PointFigures]) -> Iterator[Caution]:
    idle = next((point for point in points if point.facts.get("rows_without_a_call")), None)
    if idle is not None:
        text = (
            f"{idle.name}: {idle.facts['rows_without_a_call']} times a thread made no call, as "
            "others had the CPUs: use a longer --block, or fewer threads"
        )
        yield Caution("no-call", text)


def _unpredicted(predict: Sequence[int], networks: Sequence[NetworkFigures]) -> Iterator[Caution]:
    if predict and not any(network.predicted for network in networks):
        reason = (
            "all of these were measured"
            if networks
            else "a network is fitted to two numbers of threads and more that can run at once"
        )
        yield Caution("no-prediction", f"--predict: nothing is predicted, for {reason}")


def network_lines(network: NetworkFigures) -> list[str]:
    """Format a fitted network, and its predictions."""
    threads = ", ".join(map(str, network.threads))
    misfit = "" if network.misfit is None else f", off by × {network.misfit:.2f} at most"
    beyond = "" if network.off is None else f"; beyond those off by × {network.off:.2f}"
    fitted = f"closed network, fitted to {threads} threads{misfit}{beyond}"
    service, think = network.service_ns, network.think_ns
    shared = (
        f"as if shared for {_estimate(service)} ns of each call, {format_number(think.value)} ns "
        "not"
    )
    lines = [f"{network.name}: {shared} ({fitted})"]
    if network.predicted:
        predicted = ", ".join(
            f"{prediction.threads} threads {_estimate(prediction.calls_per_us)}"
            for prediction in network.predicted
        )
        lines.append(f"  predicted, not measured, in calls/µs: {predicted}")
    return lines


def _estimate(measured: Measured) -> str:
    return " ".join(filter(None, format_estimate(measured.value, measured.low, measured.high)))


def clock_findings(
    points: Sequence[PointFigures],
    networks: Sequence[NetworkFigures],
    source: str | None = None,
) -> list[Finding]:
    """Name clocks that take a system call, and those that readers share. source: the kernel's."""
    return [*_system_calls(points, source), *_shared_clocks(networks)]


def _system_calls(points: Sequence[PointFigures], source: str | None) -> list[Finding]:
    called = [
        (figures.name, figures.point.clock)
        for figures in points
        if isinstance(figures.point, ClockPoint)
        and figures.point.how == "libc"
        and figures.point.clock.startswith(("realtime", "monotonic", "boottime", "tai"))
        and figures.facts.get("system_call") is True
    ]
    if not called:
        return []
    name, clock = called[0]
    more = f" and {len(called) - 1} more" if len(called) > 1 else ""
    # Older kernels make a system call for the others whatever the source is.
    named = source and clock in ("realtime", "monotonic")
    cause = f": the clock source is {source}" if named else ""
    text = (
        f"{name}{more}: reading it is a system call here, which the C library makes where "
        f"the kernel lets no program read the clock by itself{cause}"
    )
    return [Finding("system-call", text)]


def _shared_clocks(networks: Sequence[NetworkFigures]) -> list[Finding]:
    findings = []
    for network in networks:
        low, think = network.service_ns.low, network.think_ns.high
        if low is None or think is None or len(network.threads) < _FEWEST_COUNTS:
            continue
        fits = network.misfit is not None and network.misfit <= _FITS
        if fits and low > _SHARED * (think + low):
            service_ns = network.service_ns.value
            text = (
                f"{network.name}: its readers take as long as if they were served one after the "
                f"other for {service_ns:.0f} ns of each call; of any more of them about "
                f"{1e3 / service_ns:.3g} calls/µs together are predicted"
            )
            findings.append(Finding("shared-clock", text))
    return findings


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

    def at_once(point: ClockPoint) -> int:
        return min(len(set(point.cpus)) or cpus, host_cpus or cpus)

    fits = []
    for name, members in _clocks(points).items():
        own = {at: rows.where(rows.column("point") == at) for at, _ in members}
        per_round = {at: throughputs(of).tolist() if of.n else [] for at, of in own.items()}
        fitted = [at for at, point in members if point.threads <= at_once(point)]
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
        # Shared reads are served together: that is another network.
        if isinstance(point, ClockPoint) and point.remedy is None:
            name = f"{point.clock} by {point.how}"
            if point.how == "device":
                name = f"device, service {point.service_ns} ns, think {point.think_ns} ns"
            groups[name].append((index, point))
    return groups


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
