"""What a run is worth: one statistic of its recording, as runs are compared by it."""

from __future__ import annotations

import math
from pathlib import Path

from whylate.compare.runs import read_run
from whylate.compare.words import names_text
from whylate.recording.workloads import Workload
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.run.errors import RequestError
from whylate.run.workloads import benchmark_rules
from whylate.stats.comparison.run_statistics import P99, STATISTICS


class NoOutcomeError(Exception):
    """A recording that has no such statistic, or that cannot be trusted; says why."""


def outcome_of(directory: Path, statistic: str) -> tuple[float, str]:
    """Return the statistic of a recording, as it is compared, and the unit of the statistic.

    Raises NoOutcomeError and RecordingError.
    """
    run = read_run(directory)
    if run.distrust:
        raise NoOutcomeError(f"it cannot be trusted: {run.distrust[0]}")
    value = run.values.get(statistic)
    if value is None or not math.isfinite(value.compared):
        raise NoOutcomeError(f"it has no {statistic}")
    units = {known.name: known.unit for known in run.statistics}
    return value.compared, units.get(statistic) or "ns"


def statistic_of_workload(workload: Workload, name: str | None) -> str:
    """Return the statistic to compare runs by; raises RequestError for one that they lack.

    name: None: p99 of activations, or the only point of a benchmark.
    """
    if isinstance(workload, BenchmarkWorkload):
        names = benchmark_rules(workload).statistic_names(workload)
        default = names[0] if len(names) == 1 else None
    else:
        names = [statistic.name for statistic in STATISTICS]
        default = P99.name
    chosen = default if name is None else name
    if chosen is None:
        raise RequestError(f"the runs measure {names_text(names[:8])}: choose one with --statistic")
    if chosen not in names:
        raise RequestError(f"--statistic takes {names_text(names[:8])}, not {chosen[:60]!r}")
    return chosen
