"""What the runs of a study measure: wakeups, or what a table of its plan says."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whylate.recording.point_names import CPU_TIME, point_names
from whylate.recording.points import (
    CommandPoint,
    How,
    Over,
    Pages,
    Point,
    Routine,
    Source,
    TrialWorkload,
    What,
)
from whylate.run.request import Request, RequestError, recorder_plan
from whylate.run.sweeps import (
    CLOCK_NAMES,
    SIZES,
    clock_points,
    memory_points,
    parse_size,
    switch_points,
)
from whylate.run.trial_requests import TrialsError, TrialsRequest, check_trials
from whylate.study.model import StudyPlan, StudyTrials
from whylate.summary.units import parse_ns

#: Rounds within each run, where nothing is said: what a study compares is runs.
ROUNDS = 3
REPETITIONS = 5


class _Table(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What the table of every workload may have."""

    rounds: int = ROUNDS
    counters: list[str] = []


class _RepeatedTable(_Table, kw_only=True):
    """What the table of a workload may have that has repetitions."""

    repetitions: int = REPETITIONS
    block: str | None = None
    free: bool = False


class SwitchTable(_RepeatedTable, kw_only=True):
    """[switch]."""

    priority: int = 0

    tasks: tuple[int, ...] = (2,)
    set_size: tuple[int | str, ...] = (0,)
    over: tuple[Over, ...] = ("pipe",)
    kind: tuple[str, ...] = ("process",)

    def points(self) -> tuple[Point, ...]:
        """Return the rings."""
        if not set(self.kind) <= {"process", "thread"}:
            raise RequestError("kind of [switch]: process, thread")
        return switch_points(self.tasks, _sizes("set_size", self.set_size), self.over, self.kind)


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

    def points(self) -> tuple[Point, ...]:
        """Return the buffers."""
        sizes = _sizes("sizes", self.sizes)
        return memory_points(self.ops, sizes, self.source, self.pages, self.routine)


class ClockTable(_RepeatedTable, kw_only=True):
    """[clock]."""

    clocks: tuple[str, ...] = CLOCK_NAMES
    threads: tuple[int, ...] = (1,)
    via: tuple[How, ...] = ("libc",)
    service: str | None = None
    think: str | None = None

    def points(self) -> tuple[Point, ...]:
        """Return the clocks and their readers."""
        service, think = (_time(name, text) for name, text in
                          (("service", self.service), ("think", self.think)))  # fmt: skip
        return clock_points(self.clocks, self.threads, self.via, service or 0, think or 0)


class CommandTable(_Table, kw_only=True):
    """[cmd]. command: its words, or a line of them as a shell would cut it."""

    command: str | list[str]
    value: str | None = None
    unit: str = ""
    higher_is_better: bool = False

    def points(self) -> tuple[Point, ...]:
        """Return the command."""
        import shlex

        from whylate.recording.points import CommandPoint

        try:
            line = self.command
            words = shlex.split(line) if isinstance(line, str) else line
        except ValueError as error:
            raise RequestError(f"command of [cmd]: {error}") from None
        return (
            CommandPoint(tuple(words), value=self.value, unit=self.unit,
                         higher_is_better=self.higher_is_better),
        )  # fmt: skip


#: A table of a plan that says what its runs measure.
Tables = SwitchTable | MemoryTable | ClockTable | CommandTable
TABLES: dict[TrialWorkload, type[Tables]] = {
    "switch": SwitchTable,
    "memory": MemoryTable,
    "clock": ClockTable,
    "cmd": CommandTable,
}


def study_trials(table: Tables) -> StudyTrials:
    """Return what a table means; raises RequestError."""
    repeated = None if isinstance(table, CommandTable) else table
    found = StudyTrials(
        points=list(table.points()),
        rounds=table.rounds,
        repetitions=1 if repeated is None else repeated.repetitions,
        block_ns=None if repeated is None else _time("block", repeated.block),
        free=repeated is not None and repeated.free,
        priority=table.priority if isinstance(table, SwitchTable) else 0,
        counters=list(table.counters),
    )
    try:
        check_trials(_request(found))
    except TrialsError as error:
        raise RequestError(str(error)) from None
    return found


def request_of(plan: StudyPlan) -> Request:
    """Return what each run of a study asks for, before its knobs and loads."""
    return Request(
        duration_ns=plan.duration_ns,
        interval_ns=plan.interval_ns,
        cpus=tuple(plan.cpus) if plan.cpus is not None else None,
        priority=plan.priority,
        allow_idle_states=False,
        spool=False,
        loads=(),
        settings=(),
        virtual_time=plan.virtual_time,
        recorder=recorder_plan(threshold_ns=plan.threshold_ns)
        if plan.recorder and plan.trials is None
        else None,
        trials=trials_request(plan),
    )


def trials_request(plan: StudyPlan) -> TrialsRequest | None:
    """Return what each run of a study asks for; None where wakeups are measured."""
    return None if plan.trials is None else _request(plan.trials)


def statistic_names(trials: StudyTrials) -> list[str]:
    """Return what the runs can be compared by."""
    timed = any(isinstance(one, CommandPoint) and one.value is None for one in trials.points)
    return [*point_names(trials.points), *([CPU_TIME] if timed else [])]


def _request(trials: StudyTrials) -> TrialsRequest:
    return TrialsRequest(
        points=tuple(trials.points),
        rounds=trials.rounds,
        repetitions=trials.repetitions,
        block_ns=trials.block_ns,
        priority=trials.priority,
        free=trials.free,
        counters=tuple(trials.counters),
    )


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
