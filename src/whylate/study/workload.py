"""What the runs of a study measure."""

from __future__ import annotations

from whylate.recording.plan import RunPlan
from whylate.recording.workloads import Workload
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.command import CPU_TIME, CommandPoint
from whylate.recording.workloads.point_names import point_names
from whylate.run.workloads import rules
from whylate.run.workloads.tables import BenchmarkTable
from whylate.study.model import StudyPlan


def table_workload(table: BenchmarkTable) -> Workload:
    """Return what a table means; raises RequestError."""
    workload = table.workload()
    rules(workload).check(RunPlan(workload=workload))
    return workload


def request(plan: StudyPlan) -> RunPlan:
    """Return what each run of a study asks for, before its knobs and loads."""
    return RunPlan(workload=plan.workload, cpus=plan.cpus, virtual_time=plan.virtual_time)


def statistic_names(benchmark: BenchmarkWorkload) -> list[str]:
    """Return what the runs can be compared by."""
    timed = any(isinstance(p, CommandPoint) and p.value is None for p in benchmark.points)
    return [*point_names(benchmark.points), *([CPU_TIME] if timed else [])]
