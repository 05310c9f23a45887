"""Several runs beside each other: their figures, and which have the same shape of distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from whylate.compare.made_experiments import MadeExperiment, read_made
from whylate.compare.runs import Run, read_run, twice_there
from whylate.quantities import format_count
from whylate.recording.errors import RecordingError
from whylate.recording.imported.executions.model import Column
from whylate.recording.reader import open_recording
from whylate.recording.samples import Activations
from whylate.stats.arrays import Int64s
from whylate.stats.comparison.shapes import (
    LEVEL,
    MATTERS,
    MOST_RUNS,
    Difference,
    group_shapes,
    rows_needed,
)
from whylate.stats.run.in_time import rows_in_time
from whylate.summary.arms import ExperimentFigures
from whylate.summary.benchmarks.model import Figure, main_figures
from whylate.summary.executions import CounterFigures, counter_figures
from whylate.summary.model import Estimate, RecordingSummary, Summary, Trust
from whylate.summary.summarize import summarize

#: Each run has a colour, a row and a chart.
MOST_OVERLAID = MOST_RUNS
#: The code of the warning that a run moved.
_MOVED = "drift"
#: By which blocks are dealt out.
_SEED = 61


class OverlayRun(msgspec.Struct, frozen=True):
    """A run and its figures. number: from 1, as it was named.

    latency_ns, duration: none of a benchmark. group: the number of its group, from 1; None:
    no_group says why.
    """

    number: int
    recording: str
    board: str
    kernel: str | None
    created: str
    workload: str
    subject: str
    count: int
    trust: Trust
    latency_ns: dict[str, Estimate] = {}
    duration: CounterFigures | None = None
    group: int | None = None
    no_group: str | None = None
    #: Of executions, some of which were treated; the other figures are then of the placebo.
    experiment: ExperimentFigures | None = None
    #: It stands for an experiment that made runs of its own.
    made: MadeExperiment | None = None


class ShapePair(msgspec.Struct, frozen=True):
    """Whether the shapes of two runs differ, by their numbers.

    p: by itself; adjusted: for all pairs. quantile: which stands out most, 0.99 of p99; None where
    none matters. ratio: that of the second over that of the first, scaled onto each other.
    """

    first: int
    second: int
    p: float
    adjusted: float
    differ: bool
    quantile: float | None
    ratio: float | None


class OverlayPoint(msgspec.Struct, frozen=True):
    """A point of a benchmark; figures: of each run in order, None where it was not measured."""

    name: str
    unit: str
    figures: list[Figure | None]


class Overlay(msgspec.Struct, frozen=True):
    """Several runs of one workload.

    quantity: what is measured; counted: of what. groups: numbers of runs whose shapes cannot be
    told from each other; matters: the factor below which a difference is none. points: of a
    benchmark.
    """

    workload: str
    quantity: str
    counted: str
    runs: list[OverlayRun]
    groups: list[list[int]]
    pairs: list[ShapePair]
    level: float
    matters: float
    points: list[OverlayPoint]
    cautions: list[str]


@dataclass(frozen=True)
class Overlaid:
    """An overlay, and what is drawn of it: of each run what is compared, and its samples.

    summaries: none of a benchmark.
    """

    overlay: Overlay
    runs: Sequence[Run]
    series: Sequence[Sequence[Activations]]
    summaries: Sequence[Summary]


def overlay_recordings(directories: Sequence[Path]) -> Overlaid:
    """Read recordings of one workload, and group them; raises RecordingError.

    The directory of an experiment (made_experiments.py) is shown as its first run as recorded.

    Raises ValueError for recordings that cannot be overlaid: of several workloads, one twice, or
    more than MOST_OVERLAID.
    """
    if len(directories) > MOST_OVERLAID:
        raise ValueError(f"{len(directories)} recordings are too many: {MOST_OVERLAID} at the most")
    made = [read_made(directory) for directory in directories]
    directories = [
        directory if each is None else directory / each.run
        for directory, each in zip(directories, made, strict=True)
    ]
    runs = [read_run(directory) for directory in directories]
    twice = twice_there([(run.identity, run.name) for run in runs])
    if twice is not None:
        raise ValueError(twice)
    kinds = {run.sets["workload"]: run.name for run in runs}
    if len(kinds) > 1:
        (kind, name), (other, of_other) = list(kinds.items())[:2]
        raise ValueError(
            f"{name} is of the workload {kind}, {of_other} of {other}: overlay one workload"
        )
    if runs[0].by_points:
        return Overlaid(_of_benchmarks(runs), runs, [], [])
    return _of_latencies(directories, runs, made)


def _of_latencies(
    directories: Sequence[Path], runs: Sequence[Run], made: Sequence[MadeExperiment | None]
) -> Overlaid:
    series, summaries, values = [], [], []
    for directory in directories:
        recording = open_recording(directory)
        summary = summarize(
            recording.series, recording.manifest, str(directory), executions=recording.executions
        )
        series.append(recording.series)
        summaries.append(summary)
        values.append(rows_in_time(recording.series))
    lacks = [_no_group(summary, own.size) for summary, own in zip(summaries, values, strict=True)]
    judged = [number for number, lack in enumerate(lacks) if lack is None]
    shapes = group_shapes(
        [values[number] for number in judged], np.random.default_rng([_SEED, len(judged)])
    )
    groups = [[judged[place] + 1 for place in group] for group in shapes.groups]
    of_run = {number: place for place, group in enumerate(groups, 1) for number in group}
    overlay_runs = [
        msgspec.structs.replace(
            _described(number, summary, summary.subject, _rows(summary)),
            latency_ns=summary.together.latency_ns,
            duration=_duration(durations),
            group=of_run.get(number),
            no_group=lack,
            experiment=summary.section.experiment if summary.section is not None else None,
            made=made[number - 1],
        )
        for number, (summary, durations, lack) in enumerate(
            zip(summaries, values, lacks, strict=True), 1
        )
    ]
    first = summaries[0]
    overlay = Overlay(
        first.workload,
        first.quantity,
        first.counted,
        overlay_runs,
        groups,
        [_pair(pair, judged) for pair in shapes.pairs],
        LEVEL,
        MATTERS,
        [],
        _cautions(summaries),
    )
    return Overlaid(overlay, runs, series, summaries)


def _rows(summary: Summary) -> int:
    return summary.together.seen + summary.together.overrun


def _described(number: int, summary: RecordingSummary, subject: str, count: int) -> OverlayRun:
    """Return a run without figures."""
    return OverlayRun(
        number,
        summary.recording,
        summary.board,
        summary.kernel,
        summary.created,
        summary.workload,
        subject,
        count,
        summary.trust,
    )


def _no_group(summary: Summary, rows: int) -> str | None:
    """Return why a run has no group; None where it has one."""
    if summary.trust.verdict != "ok":
        reason = next(iter(summary.trust.reasons), "no reason was given").rstrip(".")
        return f"there is no verdict on it ({reason})"
    if rows < rows_needed():
        return (
            f"a shape needs {format_count(rows_needed())} {summary.counted}; it has "
            f"{format_count(rows)}"
        )
    return None


def _cautions(summaries: Sequence[Summary]) -> list[str]:
    """Say what differs between runs beside their shapes, and which have no one shape."""
    texts = []
    subjects = list(dict.fromkeys(summary.subject for summary in summaries))
    if len(subjects) > 1:
        texts.append(f"the runs are of {len(subjects)} different sections or programs")
    if len({summary.virtual_time for summary in summaries}) > 1:
        texts.append("some runs are in virtual time, and others in real time")
    hooks = {summary.section.hook for summary in summaries if summary.section is not None}
    if len(hooks) > 1:
        texts.append(
            f"the runs are timed by different hooks ({', '.join(sorted(hooks))}), whose own time "
            "is in every duration"
        )
    texts += [
        f"run {number} moved while it was measured: its shape is that of several"
        for number, summary in enumerate(summaries, 1)
        if any(warning.code == _MOVED for warning in summary.warnings)
    ]
    return texts


def _duration(values: Int64s) -> CounterFigures | None:
    if not values.size or int(values.min()) < 0:
        return None
    return counter_figures(Column("latency", "duration", "ns"), values.astype(np.float64))


def _pair(pair: Difference, judged: Sequence[int]) -> ShapePair:
    return ShapePair(
        judged[pair.first] + 1,
        judged[pair.second] + 1,
        pair.p,
        pair.adjusted,
        pair.adjusted <= LEVEL,
        pair.quantile or None,
        pair.ratio if pair.quantile else None,
    )


def _of_benchmarks(runs: Sequence[Run]) -> Overlay:
    """Return benchmarks beside each other, point by point; they have no shapes."""
    of_runs = []
    for run in runs:
        if run.benchmark is None:
            raise RecordingError(f"{run.name} has no points")
        of_runs.append({main.name: main.figure for main in main_figures(run.benchmark.points)})
    names = dict.fromkeys(name for figures in of_runs for name in figures)
    points = []
    for name in names:
        figures = [of_run.get(name) for of_run in of_runs]
        points.append(
            OverlayPoint(name, next(each.unit for each in figures if each is not None), figures)
        )
    why = "a benchmark has too few repetitions for a shape"
    summaries = [run.benchmark for run in runs if run.benchmark is not None]
    return Overlay(
        summaries[0].workload,
        "figure",
        "repetitions",
        [
            msgspec.structs.replace(
                _described(number, summary, summary.common, run.activations), no_group=why
            )
            for number, (run, summary) in enumerate(zip(runs, summaries, strict=True), 1)
        ],
        [],
        [],
        LEVEL,
        MATTERS,
        points,
        [],
    )
