"""What a comparison looks at of one run, and of the runs of one side."""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from whylate.compare.run_environment import Environment, read_environment
from whylate.quantities import format_count, format_exact_ns
from whylate.recording.device_loads import load_name
from whylate.recording.imported.model import ImportedRun
from whylate.recording.imported.read import select_runs
from whylate.recording.manifest import Fact, HitReport, Manifest, RecorderReport
from whylate.recording.reader import Recording, open_recording
from whylate.recording.store.repetitions import repetitions_path
from whylate.recording.workloads.point_names import used_cpus
from whylate.stats.arrays import Floats, Int64s
from whylate.stats.comparison.run_statistics import (
    MAX,
    STATISTICS,
    Statistic,
    Value,
    exact_value,
    statistic_of,
)
from whylate.stats.run.histogram import count_by_octave
from whylate.stats.run.ordered import Ordered, merge_ordered, sort_series
from whylate.summary.benchmarks.model import BenchmarkSummary, main_figures
from whylate.summary.imported import ordered_of
from whylate.summary.trust import assess
from whylate.summary.workloads import summarize_benchmark

#: Runs differ in length by less than this part, or their largest latencies are not compared.
_SAME_LENGTH = 0.05


#: What is not known of runs of other tools.
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Count:
    """How often an event came per unit of work, and the unit: "an activation"."""

    value: float
    per: str


@dataclass(frozen=True)
class Run:
    """One run: the unit of a comparison.

    values: by the name of a statistic. boot: which of the board's; None: not known. made: when,
    as text that sorts; "" where it is not known. sets: what must be the same in all runs that are
    compared, by its name. beside: what may differ, and is reported if it does.
    repeats: made in virtual time, in which nothing but the run itself passes. pair: what it has in
    common with one run of the other side; "": nothing. lacks: what its file does not have.
    octaves: counts of its latencies (whylate.stats.run.histogram); None: not kept.
    statistics: what it may be compared by.
    """

    name: str
    values: Mapping[str, Value]
    activations: int = 0
    boot: str | None = None
    made: str = ""
    distrust: tuple[str, ...] = ()
    sets: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    repeats: bool = False
    pair: str = ""
    lacks: tuple[str, ...] = ()
    octaves: Int64s | None = None
    statistics: tuple[Statistic, ...] = STATISTICS
    #: Its statistics are the points of a benchmark.
    by_points: bool = False
    #: What no other run has: of its samples, or of its file. "": not known.
    identity: str = ""
    #: Of a benchmark.
    benchmark: BenchmarkSummary | None = None
    #: What was counted besides the time, by event; of several points by point and event.
    counts: Mapping[str, Count] = field(default_factory=dict)
    hits: tuple[HitReport, ...] = ()
    facts: tuple[Fact, ...] = ()
    #: None of runs of other tools.
    environment: Environment | None = None


@dataclass(frozen=True)
class Arm:
    """One side of a comparison: runs of one variant, in any order, at least one."""

    name: str
    runs: tuple[Run, ...]

    @property
    def boots(self) -> frozenset[str] | None:
        """The boots that its runs are from; None where that is not known of all."""
        known = {run.boot for run in self.runs}
        return None if None in known else frozenset(boot for boot in known if boot is not None)

    def compared(self, name: str) -> Floats:
        """Return a statistic of every run, as it is compared, shape (runs,)."""
        return np.array([run.values[name].compared for run in self.runs])

    def most(self, name: str) -> Floats:
        """Return a statistic of every run as high as it can be, shape (runs,); inf: no bound."""
        return np.array([run.values[name].most for run in self.runs])

    def at_least(self, name: str) -> bool:
        """Whether overruns, were they longer, would raise a statistic of any run."""
        return any(run.values[name].at_least for run in self.runs if name in run.values)

    def by_boot(self) -> Arm:
        """Return the means of each boot's runs, as if each boot were one run."""
        boots: dict[str, list[Run]] = {}
        for run in self.runs:
            boots.setdefault(run.boot or "", []).append(run)
        return replace(self, runs=tuple(_mean(runs) for runs in boots.values()))


def _mean(runs: Sequence[Run]) -> Run:
    names = [name for name in runs[0].values if all(name in run.values for run in runs)]
    return replace(
        runs[0],
        values={
            name: Value(
                float(np.mean([run.values[name].compared for run in runs])),
                float(np.mean([run.values[name].most for run in runs])),
            )
            for name in names
        },
        counts={
            name: Count(float(np.mean([run.counts[name].value for run in runs])), count.per)
            for name, count in runs[0].counts.items()
            if all(name in run.counts for run in runs)
        },
    )


def read_run(directory: Path) -> Run:
    """Read a recording; raises RecordingError. Its samples are not kept."""
    return run_of(directory, open_recording(directory))


def run_of(directory: Path, recording: Recording) -> Run:
    """Return a recording as a run; raises RecordingError. Its samples are not kept."""
    if recording.manifest.plan.benchmark is not None:
        return _benchmark_run(directory, recording)
    samples = recording.series
    ordered = merge_ordered([sort_series(cpu) for cpu in samples])
    return replace(
        describe_run(directory, recording.manifest),
        values=_values(ordered),
        activations=ordered.n,
        distrust=tuple(assess(recording.manifest, samples).trust.reasons),
        octaves=count_by_octave(ordered.bound),
        counts=_event_counts(recording.manifest),
    )


def describe_run(directory: Path, manifest: Manifest) -> Run:
    """Return a recording as a run without figures: what it is, and how it was made."""
    plan = manifest.plan
    boot: object = next((fact.value for fact in manifest.facts if fact.name == "boot_id"), None)
    if plan.virtual_time:
        # There each run is a boot of its own.
        boot = str(directory)
    sets = {"workload": plan.workload.kind}
    if plan.activations is not None:
        interval_ns = plan.activations.interval_ns
        sets["interval"] = format_exact_ns(interval_ns) if interval_ns else "its own"
    sets["time"] = "virtual" if plan.virtual_time else "real"
    loads = [load_name(load.kind, load.count, load.command) for load in plan.loads]
    cpus = (
        [account.cpu for account in manifest.cpus]
        if plan.benchmark is None
        else used_cpus(plan.benchmark.points)
    )
    return Run(
        name=str(directory),
        values={},
        boot=boot if isinstance(boot, str) else None,
        made=manifest.created,
        sets=sets,
        beside={
            "board": manifest.board,
            "load": ", ".join(loads) or "none",
            "CPUs": ",".join(map(str, cpus)),
            "priority": str(plan.workload.priority),
            "recorder": _recorder(manifest.recorder),
        },
        repeats=plan.virtual_time,
        hits=tuple(manifest.hits),
        facts=tuple(manifest.facts),
        environment=read_environment(manifest.facts, cpus),
        identity=_identity(manifest, directory),
    )


def _recorder(report: RecorderReport | None) -> str:
    """Say what recorded: to detach it and attach it again delays activations too."""
    if report is None or report.engine is None:
        return "none"
    return f"{report.engine}, detached for parts of the run" if report.detached else report.engine


def _event_counts(manifest: Manifest) -> dict[str, Count]:
    """Return what was counted of the measuring threads, per activation that was seen."""
    seen = sum(account.seen for account in manifest.cpus)
    totals: dict[str, int] = {}
    for cpu in manifest.events:
        for name, count in cpu.counts.items():
            totals[name] = totals.get(name, 0) + count
    return {name: Count(total / seen, "an activation") for name, total in totals.items() if seen}


def _point_counts(summary: BenchmarkSummary) -> dict[str, Count]:
    """Return what was counted at each point of a benchmark, per unit of its work."""
    several = len(summary.points) > 1
    return {
        f"{point.name}: {name}" if several else name: Count(
            measured.value, f"a {summary.counts_per}"
        )
        for point in summary.points
        for name, measured in point.counts.items()
    }


def _values(ordered: Ordered) -> dict[str, Value]:
    """Return the statistics that there are of latencies."""
    values = {statistic.name: statistic_of(ordered, statistic) for statistic in STATISTICS}
    return {name: value for name, value in values.items() if value is not None}


def _identity(manifest: Manifest, directory: Path) -> str:
    """Return what tells a recording from all others: a copy of it has the same."""
    if manifest.samples_sha256:
        return manifest.samples_sha256
    # Of a benchmark the manifest has no digest.
    with contextlib.suppress(OSError), repetitions_path(directory).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return str(directory.resolve())


def _benchmark_run(directory: Path, recording: Recording) -> Run:
    """Read a recording of a benchmark: each of its points is a statistic."""
    summary = summarize_benchmark(recording.manifest, recording.repetitions, str(directory))
    compared = main_figures(summary.points)
    run = describe_run(directory, recording.manifest)
    return replace(
        run,
        values={
            main.name: exact_value(math.log(main.figure.value))
            for main in compared
            if main.figure.value > 0
        },
        activations=max(1, recording.repetitions.n),
        distrust=tuple(summary.trust.reasons),
        beside={**run.beside, "setting": summary.common, **summary.conditions},
        statistics=tuple(
            Statistic(
                main.name,
                unit=main.figure.unit,
                higher_is_better=main.figure.higher_is_better,
                quantity=main.figure.quantity,
            )
            for main in compared
        ),
        by_points=True,
        counts=_point_counts(summary),
        benchmark=summary,
    )


#: Of files that have no latencies: what is left to compare by.
AVERAGE = Statistic("average")
LARGEST = Statistic("largest", least_runs=6)


def imported_runs(path: Path, column: str | None = None, unit: str = "") -> list[Run]:
    """Read the runs in a file of another tool; none where it is of none that is known.

    column: the name of those that are wanted; None: all. unit: of a histogram that is a table
    without one. Raises InputError.
    """
    imported = select_runs(path, column, unit)
    if not imported:
        return []
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return [
        imported_run(f"{path} ({number})" if len(imported) > 1 else str(path), run, digest, number)
        for number, run in enumerate(imported, 1)
    ]


def imported_run(name: str, imported: ImportedRun, digest: str, number: int) -> Run:
    """Return what is compared of a run of another tool.

    digest, number: SHA-256 of its file, and which run of that it is, the first is 1.
    """
    values: dict[str, Value] = {
        quantile: exact_value(math.log(value_ns))
        for quantile, value_ns in imported.quantiles_ns
        if value_ns > 0
    }
    activations = imported.activations or 1
    ordered = ordered_of(imported)
    if ordered is not None:
        values = _values(ordered)
        activations = ordered.n
        if MAX.name in values and imported.max_ns is not None and imported.max_ns > 0:
            # It stands beside the histogram, which may have ended before it.
            values[MAX.name] = exact_value(math.log(imported.max_ns))
    for statistic, value_ns in ((AVERAGE, imported.average_ns), (LARGEST, imported.max_ns)):
        if value_ns is not None and value_ns > 0:
            compared = math.log(value_ns)
            cut_ns = imported.average_cut_ns if statistic is AVERAGE else 0.0
            most = math.inf if imported.overruns else math.log(value_ns + cut_ns)
            values[statistic.name] = Value(compared, most)
    return Run(
        name,
        values,
        activations,
        made=imported.made,
        sets={"tool": imported.tool, "latencies": "no" if imported.latency_ns is None else "yes"},
        lacks=imported.lacks,
        identity=f"{digest}:{number}",
    )


def twice_there(runs: Sequence[tuple[str, str]]) -> str | None:
    """Say which run is there twice, by identities and names; None where none is.

    Once more it shows nothing more.
    """
    seen: dict[str, str] = {}
    for identity, name in runs:
        if identity and identity in seen:
            return f"{seen[identity]} and {name} are one and the same run: it counts once"
        seen[identity] = name
    return None


def differing(sets: Sequence[Mapping[str, str]]) -> tuple[str, int] | None:
    """Return in what runs differ of what must be the same, and the first that differs there.

    None: in nothing. What is not known of a run is `UNKNOWN`.
    """
    for name in dict.fromkeys(name for conditions in sets for name in conditions):
        values = [conditions.get(name, UNKNOWN) for conditions in sets]
        odd = next((number for number, value in enumerate(values) if value != values[0]), None)
        if odd is not None:
            return name, odd
    return None


def lacking(statistic: Statistic, first: Arm, second: Arm) -> str | None:
    """Return why two sides cannot be compared by a statistic; None where they can."""
    runs = [*first.runs, *second.runs]
    without = [
        run
        for run in runs
        if not any(candidate.name == statistic.name for candidate in run.statistics)
    ]
    if without and any(run.by_points for run in runs):
        return f"{statistic.name} was not measured in {without[0].name}"
    unlike = list(
        dict.fromkeys(
            candidate.quantity
            for run in runs
            for candidate in run.statistics
            if candidate.name == statistic.name
        )
    )
    if len(unlike) > 1:
        return f"{statistic.name} is {unlike[0]} in some runs, and {unlike[1]} in others"
    if min(len(first.runs), len(second.runs)) < statistic.least_runs:
        return (
            f"{statistic.name} is a maximum, and of so few runs maxima compare nothing: "
            f"{statistic.least_runs} a side are the least"
        )
    least = min(run.activations for run in runs)
    if least < statistic.least_n:
        return (
            f"{statistic.name} needs {format_count(statistic.least_n)} activations in every run; "
            f"the shortest has {format_count(least)}"
        )
    most = max(run.activations for run in runs)
    if statistic.grows and most - least > _SAME_LENGTH * most:
        return (
            f"{statistic.name} grows with a run's length, and these have {format_count(least)} to "
            f"{format_count(most)} activations"
        )
    if not all(statistic.name in run.values for run in runs):
        return f"{statistic.name} is not above zero in every run, and has no ratio"
    return None
