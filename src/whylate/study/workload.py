"""What the runs of a study measure: wakeups, or what a table of its plan says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from whylate.recording.plan import RunPlan
from whylate.recording.workloads import Workload
from whylate.recording.workloads.benchmarks import BenchmarkWorkload, CounterPlan
from whylate.recording.workloads.clock import Clock, How
from whylate.recording.workloads.command import CPU_TIME, Command, CommandPoint
from whylate.recording.workloads.memory import Memory, Pages, Routine, Source, What
from whylate.recording.workloads.point_names import point_names
from whylate.recording.workloads.switch import Over, Switch
from whylate.run.errors import RequestError
from whylate.run.workloads import rules
from whylate.run.workloads.clock import CLOCK_NAMES, clock_points
from whylate.run.workloads.memory import SIZES, memory_points
from whylate.run.workloads.sweeps import parse_size
from whylate.run.workloads.switch import switch_points
from whylate.study.model import StudyPlan
from whylate.summary.units import parse_ns

#: Rounds within each run, where nothing is said: what a study compares is runs.
ROUNDS = 3
REPETITIONS = 5


class _Table(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What the table of every workload may have."""

    rounds: int = ROUNDS
    counters: list[str] = []

    def common(self) -> dict[str, Any]:
        """Return the fields of the workload that this table has."""
        return {"rounds": self.rounds, "counters": [CounterPlan(name) for name in self.counters]}


class _RepeatedTable(_Table, kw_only=True):
    """What the table of a workload may have that has repetitions."""

    repetitions: int = REPETITIONS
    block: str | None = None
    free: bool = False

    def common(self) -> dict[str, Any]:
        """Return the fields of the workload that this table has."""
        block_ns = _time("block", self.block)
        block = {} if block_ns is None else {"block_ns": block_ns}
        return {**super().common(), **block, "repetitions": self.repetitions, "free": self.free}


class SwitchTable(_RepeatedTable, kw_only=True):
    """[switch]."""

    priority: int = 0

    tasks: tuple[int, ...] = (2,)
    set_size: tuple[int | str, ...] = (0,)
    over: tuple[Over, ...] = ("pipe",)
    kind: tuple[str, ...] = ("process",)

    def workload(self) -> Workload:
        """Return the rings."""
        if not set(self.kind) <= {"process", "thread"}:
            raise RequestError("kind of [switch]: process, thread")
        sizes = _sizes("set_size", self.set_size)
        points = switch_points(self.tasks, sizes, self.over, self.kind)
        return Switch(points=list(points), priority=self.priority, **self.common())


class MemoryTable(_RepeatedTable, kw_only=True):
    """[memory]."""

    ops: tuple[What, ...] = (
        "copy",
        "set",
        "read",
    )
    sizes: tuple[int | str, ...] = SIZES
    source: tuple[Source, ...] = ("random",)
    pages: tuple[Pages, ...] = ("small",)
    routine: tuple[Routine, ...] = ("libc",)

    def workload(self) -> Workload:
        """Return the buffers."""
        sizes = _sizes("sizes", self.sizes)
        points = memory_points(self.ops, sizes, self.source, self.pages, self.routine)
        return Memory(points=list(points), **self.common())


class ClockTable(_RepeatedTable, kw_only=True):
    """[clock]."""

    clocks: tuple[str, ...] = CLOCK_NAMES
    threads: tuple[int, ...] = (1,)
    via: tuple[How, ...] = ("libc",)
    service: str | None = None
    think: str | None = None

    def workload(self) -> Workload:
        """Return the clocks and their readers."""
        service, think = (_time(name, text) for name, text in
                          (("service", self.service), ("think", self.think)))  # fmt: skip
        points = clock_points(self.clocks, self.threads, self.via, service or 0, think or 0)
        return Clock(points=list(points), **self.common())


class CommandTable(_Table, kw_only=True):
    """[cmd]. command: its words, or a line of them as a shell would cut it."""

    command: str | list[str]
    value: str | None = None
    unit: str = ""
    higher_is_better: bool = False

    def workload(self) -> Workload:
        """Return the command."""
        import shlex

        from whylate.recording.workloads.command import CommandPoint

        try:
            line = self.command
            words = shlex.split(line) if isinstance(line, str) else line
        except ValueError as error:
            raise RequestError(f"command of [cmd]: {error}") from None
        point = CommandPoint(
            tuple(words), value=self.value, unit=self.unit, higher_is_better=self.higher_is_better
        )
        return Command(points=[point], **self.common())


#: A table of a plan that says what its runs measure.
Tables = SwitchTable | MemoryTable | ClockTable | CommandTable
TABLES: dict[str, type[Tables]] = {
    "switch": SwitchTable,
    "memory": MemoryTable,
    "clock": ClockTable,
    "cmd": CommandTable,
}


def table_workload(table: Tables) -> Workload:
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


def _sizes(key: str, words: Sequence[int | str]) -> list[int]:
    found = []
    for word in words:
        size = word if isinstance(word, int) else parse_size(word)
        if size is None:
            raise RequestError(f"{key}: {str(word)[:40]!r} is no size: write it like 4k or 64M")
        found.append(size)
    return found


def _time(key: str, text: str | None) -> int | None:
    if text is None:
        return None
    ns = parse_ns(text, latency=False)
    if ns is None:
        raise RequestError(f"{key} = {text[:40]!r} is no time: write it like 1us or 50ms")
    return ns
