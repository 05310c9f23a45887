"""What a run of a soak left, whatever it measured: figures, how its job ended, and its trust."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whylate.compare.runs import Run, run_of
from whylate.recording.errors import RecordingError
from whylate.recording.manifest import AppEnd, Manifest
from whylate.recording.reader import Recording, open_recording
from whylate.soak.model import Latency, RunFigure

#: A sweep may have thousands of points; a line of the journal holds so many figures.
MOST_FIGURES = 200
_LONGEST_NAME = 120


@dataclass(frozen=True)
class RunResult:
    """reasons: why it has no verdict. job: how the command that it ran ended; None: it ran none."""

    reasons: tuple[str, ...] = ()
    latency: Latency | None = None
    figures: tuple[RunFigure, ...] = ()
    job: AppEnd | None = None


def read_result(directory: Path, manifest: Manifest) -> RunResult:
    """Read what a run left; a recording that cannot be read is a reason."""
    reasons = [problem.text for problem in manifest.problems if problem.fatal]
    job = manifest.app_end
    try:
        recording = open_recording(directory)
        run = run_of(directory, recording)
        if manifest.plan.benchmark is not None:
            job = _command_end(recording) or job
        return RunResult(
            reasons=tuple(dict.fromkeys([*reasons, *run.distrust])),
            latency=_latency(recording),
            figures=tuple(_figures(run))[:MOST_FIGURES],
            job=job,
        )
    except RecordingError as error:
        return RunResult(reasons=(*reasons, str(error)), job=job)


def _command_end(recording: Recording) -> AppEnd | None:
    """Return how the command of each repetition ended, the first failure first; None without one.

    Repetitions that run a command have its status and its signal.
    """
    rows = recording.repetitions
    if not rows.n or not {"status", "signal"} <= rows.columns.keys():
        return None
    status, ended_by = rows.column("status"), rows.column("signal")
    failed = np.flatnonzero((status != 0) | (ended_by != 0))
    row = int(failed[0]) if failed.size else 0
    return AppEnd(int(status[row]), int(ended_by[row]))


def _figures(run: Run) -> Iterator[RunFigure]:
    """Yield the statistics by which the run would be compared."""
    for statistic in run.statistics:
        value = run.values.get(statistic.name)
        if value is not None and run.activations >= statistic.least_n:
            unit = "ns" if statistic.unit is None else statistic.unit
            yield RunFigure(statistic.name[:_LONGEST_NAME], math.exp(value.compared), unit)


def _latency(recording: Recording) -> Latency | None:
    """Return the sample accounting; None of a benchmark."""
    manifest = recording.manifest
    if manifest.plan.activations is None or not manifest.cpus:
        return None
    chunks = (latency_ns for cpu in recording.series for latency_ns, _ in cpu.chunks())
    highest = max((int(chunk.max()) for chunk in chunks if chunk.size), default=None)
    return Latency(
        expected=sum(cpu.expected for cpu in manifest.cpus),
        seen=sum(cpu.seen for cpu in manifest.cpus),
        overrun=sum(cpu.overrun for cpu in manifest.cpus),
        dropped=sum(cpu.dropped for cpu in manifest.cpus),
        max_ns=highest,
    )
