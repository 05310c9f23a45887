"""Rules of a workload: its limits, its commands, and its knobs."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from whylate.recording.plan import RunPlan, Setting
from whylate.recording.workloads import Workload
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.point_names import point_names
from whylate.run.errors import RequestError
from whylate.run.workloads.counters import check_counters, resolve_counters
from whylate.run.workloads.tables import BenchmarkTable, WorkloadTable
from whylate.text import is_number
from whylate.wire.constants import (
    HIGHEST_PRIORITY,
    LONGEST_BLOCK_NS,
    LONGEST_RUN_NS,
    MOST_REPETITIONS,
    MOST_WORDS,
)
from whylate.wire.messages import Message

#: A repetition takes a few blocks; setting up, and what else a board does, takes the rest.
TURN_BASE_S = 600.0
BLOCKS_PER_REPETITION = 16
MAX_POINTS = 200
MAX_ROUNDS = 1000
#: Of the shortest block that is measured; the probe takes shorter ones, for tests.
LEAST_BLOCK_NS = 100_000

#: A function from a workload and the value of a knob to the workload with it; raises RequestError.
Knob = Callable[[Any, str], Any]
#: A field of a point, and its parser, which returns None for an invalid value.
Parameter = tuple[str, Callable[[str], object]]


class WorkloadRules(ABC):
    """What a run needs to know of a workload beyond its plan."""

    #: The knobs of this workload.
    knobs: ClassVar[Mapping[str, Knob]] = {}

    @abstractmethod
    def check(self, plan: RunPlan) -> None:
        """Raise RequestError for what no board can do."""

    def resolve(self, plan: RunPlan, available: Sequence[int], model: str | None) -> Workload:
        """Return the workload on a board with these CPUs of that model; raises RequestError."""
        del available, model
        return plan.workload

    @abstractmethod
    def script(self, workload: Any, cpus: Sequence[int]) -> Iterator[Message]:
        """Yield the commands of a resolved workload, in their order."""

    def with_variables(self, workload: Any, variables: Sequence[str]) -> Workload | None:
        """Give NAME=VALUE to the commands of the workload; None if it has none."""
        del workload, variables
        return None

    def setting(self, workload: Any, knob: str, value: str) -> Setting | None:
        """Return the setting of the board that a knob of the workload is; None: it is none."""
        del workload, knob, value
        return None

    def with_parameter(self, workload: Any, name: str, value: str) -> Workload:
        """Return the workload with a parameter of all its points changed; raises RequestError."""
        del workload, value
        raise RequestError(
            f"workload:{name[:40]} is for the workloads switch, memory, clock, bulk and flush"
        )


class ActivationRules(WorkloadRules):
    """The rules of all workloads with activations."""

    #: The table in which a user writes the workload; None: a study cannot measure it.
    table: ClassVar[type[WorkloadTable] | None] = None
    #: Whether the user may name the CPUs that are measured.
    takes_cpus: ClassVar[bool] = True

    @abstractmethod
    def start(self, workload: Any, cpus: Sequence[int]) -> Message:
        """Return the command that starts the workload."""

    def repeat(self, workload: Any, duration_ns: int, recorder: RecorderPlan) -> Workload:
        """Return the workload that an experiment repeats; raises RequestError."""
        del workload, duration_ns, recorder
        raise RequestError("--experiment repeats wakeups and sections: not a program")

    def script(self, workload: Any, cpus: Sequence[int]) -> Iterator[Message]:
        """Yield the command that starts it."""
        yield self.start(workload, cpus)

    def check(self, plan: RunPlan) -> None:
        """Raise RequestError for an invalid duration or recorder."""
        workload = plan.activations
        if workload is None:
            return
        if not workload.interval_ns <= workload.duration_ns <= LONGEST_RUN_NS:
            raise RequestError("--for must be at least one interval and at most 30 days")
        engine = workload.recorder.engine if workload.recorder is not None else "best"
        if engine not in ("best", "bpf", "tracefs"):
            raise RequestError(f"unknown recorder {engine!r}: expected best, bpf or tracefs")


class BenchmarkRules(WorkloadRules):
    """The rules of all benchmarks."""

    #: The table in which a user writes the benchmark; None: a study cannot measure it.
    table: ClassVar[type[BenchmarkTable] | None]
    #: By their names in knobs and study plans.
    parameters: ClassVar[Mapping[str, Parameter]] = {}

    @abstractmethod
    def check_point(self, point: Any) -> None:
        """Raise RequestError for a point that no board can measure."""

    @abstractmethod
    def check_cpus(self, cpus: Sequence[int]) -> None:
        """Raise RequestError for CPUs that the points cannot be pinned to."""

    @abstractmethod
    def pin(self, point: Any, cpus: Sequence[int] | None, available: Sequence[int]) -> Any:
        """Return a point pinned to the requested CPUs, or to a default of those available."""

    @abstractmethod
    def command(self, workload: Any, point: Any, turn: int) -> Message:
        """Return the command that measures a point in the turn of that number."""

    def turn(self, workload: Any, number: int) -> Message:
        """Return the command of a turn."""
        return self.command(workload, workload.points[workload.order[number]], number)

    def patience_s(self, workload: Any) -> float:
        """Return how long a turn may take without a repetition, in seconds."""
        return TURN_BASE_S + float(BLOCKS_PER_REPETITION * workload.block_ns) / 1e9

    def statistic_names(self, workload: Any) -> list[str]:
        """Return the names of the statistics by which runs are compared."""
        return point_names(workload.points)

    def has(self, point: Any, field: str) -> bool:
        """Return whether a field means something at a point."""
        del point, field
        return True

    def failure(self, message: Message) -> bool:
        """Return whether a message ends the whole run as failed."""
        del message
        return False

    def script(self, workload: Any, cpus: Sequence[int]) -> Iterator[Message]:
        """Yield the command of each turn."""
        del cpus
        for number in range(len(workload.order)):
            yield self.turn(workload, number)

    def check(self, plan: RunPlan) -> None:
        """Raise RequestError for what no board can do."""
        workload = plan.benchmark
        if workload is None:
            return
        points = workload.points
        if not 1 <= len(points) <= MAX_POINTS:
            raise RequestError(
                f"{len(points)} points are more than the {MAX_POINTS} that a run takes"
            )
        if len({msgspec.json.encode(point) for point in points}) < len(points):
            raise RequestError("a point is named twice")
        if not 1 <= workload.rounds <= MAX_ROUNDS:
            raise RequestError(f"--rounds must lie between 1 and {MAX_ROUNDS}")
        if not 1 <= workload.repetitions <= MOST_REPETITIONS:
            raise RequestError(f"--repetitions must lie between 1 and {MOST_REPETITIONS}")
        check_counters([counter.name for counter in workload.counters])
        self.check_block(workload.block_ns)
        if not 0 <= workload.priority <= HIGHEST_PRIORITY:
            raise RequestError("--priority must lie between 1 and 99 (SCHED_FIFO)")
        for point in points:
            self.check_point(point)
        if plan.cpus is not None:
            if workload.free:
                raise RequestError("--free lets the scheduler choose the CPUs: not with --cpus")
            self.check_cpus(plan.cpus)

    def check_block(self, block_ns: int) -> None:
        """Raise RequestError for repetitions that are too short or too long."""
        if not LEAST_BLOCK_NS <= block_ns <= LONGEST_BLOCK_NS:
            raise RequestError("--block must lie between 100us and 60s")

    def resolve(self, plan: RunPlan, available: Sequence[int], model: str | None) -> Workload:
        """Pin the points, draw the order, and resolve the counters; raises RequestError."""
        workload = plan.workload
        points: Sequence[BenchmarkPoint] = plan.benchmark.points if plan.benchmark else []
        if not plan.benchmark or not plan.benchmark.free:
            points = [self.pin(point, plan.cpus, available) for point in points]
        return msgspec.structs.replace(
            workload,
            points=list(points),
            order=_order(len(points), plan.benchmark.rounds if plan.benchmark else 0, plan.seed),
            counters=resolve_counters(workload.counters, model),
        )

    def with_parameter(self, workload: Any, name: str, value: str) -> Workload:
        """Return the workload with a parameter of all its points changed; raises RequestError."""
        if name not in self.parameters:
            raise RequestError(
                f"the workload {workload.kind} has no parameter {name[:40]!r}, expected one of "
                f"{', '.join(self.parameters) or 'none'}"
            )
        field, parse = self.parameters[name]
        parsed = parse(value)
        if parsed is None:
            raise RequestError(f"{name} = {value[:40]!r}: invalid value")
        if not any(self.has(point, field) for point in workload.points):
            raise RequestError(f"no point has {name}: it would change nothing")
        changed = [
            msgspec.structs.replace(point, **{field: parsed}) if self.has(point, field) else point
            for point in workload.points
        ]
        different = {msgspec.json.encode(point): point for point in changed}
        replaced: Workload = msgspec.structs.replace(workload, points=list(different.values()))
        self.check(RunPlan(workload=replaced))
        return replaced


def _order(points: int, rounds: int, seed: int) -> list[int]:
    """Return the point of each turn: every round has each point once, in random order."""
    rng = random.Random(seed)  # noqa: S311 (an order that repeats, no secret)
    order: list[int] = []
    for _ in range(rounds):
        turns = list(range(points))
        rng.shuffle(turns)
        order += turns
    return order


def set_priority(workload: Any, value: str) -> Any:
    """Return the workload with a SCHED_FIFO priority; raises RequestError."""
    if not is_number(value, 9) or not 1 <= int(value) <= 99:
        raise RequestError("knob priority: expected a number from 1 to 99 (SCHED_FIFO)")
    return msgspec.structs.replace(workload, priority=int(value))


def choice(knob: str, value: str, words: Sequence[str]) -> str:
    """Return the value of a knob that is one of some words; raises RequestError."""
    if value not in words:
        raise RequestError(f"knob {knob}: expected one of {', '.join(words)}")
    return value


def one_of(words: Sequence[str]) -> Callable[[str], str | None]:
    """Return a parser of one of some words."""
    return lambda word: word if word in words else None


def check_words(words: Sequence[str], limit: int) -> None:
    """Raise RequestError for a command that does not fit into one message of `limit` bytes."""
    size = sum(len(word.encode(errors="surrogateescape")) for word in words)
    if len(words) > MOST_WORDS or size > limit:
        raise RequestError(
            f"the command has more than {MOST_WORDS} words or {limit} bytes: put it into a script"
        )
