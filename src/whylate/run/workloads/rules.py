"""What the measuring wing knows of each workload: its limits, its commands, and its knobs."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from whylate.recording.plan import RunPlan
from whylate.recording.workloads import Workload
from whylate.recording.workloads.benchmarks import BenchmarkPoint, CounterPlan
from whylate.run.errors import RequestError
from whylate.run.workloads.counters import CounterError, check_counters, counters_named
from whylate.run.workloads.tables import BenchmarkTable
from whylate.wire.constants import MOST_COUNTERS, MOST_WORDS
from whylate.wire.messages import Message

MAX_DURATION_NS = 30 * 86_400 * 1_000_000_000
MAX_POINTS = 200
MAX_ROUNDS = 1000
MAX_REPETITIONS = 1000

#: A function from a workload and the value of a knob to the workload with it; raises RequestError.
Knob = Callable[[Any, str], Any]
#: A field of a point, and its parser, which returns None for an invalid value.
Parameter = tuple[str, Callable[[str], object]]


class WorkloadRules(ABC):
    """What a run must know of a workload beyond its plan."""

    #: Knobs of a run that this workload has.
    knobs: ClassVar[Mapping[str, Knob]] = {}

    @abstractmethod
    def check(self, plan: RunPlan) -> None:
        """Raise RequestError for what no board can do."""

    @abstractmethod
    def resolve(self, plan: RunPlan, available: Sequence[int], model: str | None) -> Workload:
        """Return the workload on a board with these CPUs of that model; raises RequestError."""

    @abstractmethod
    def script(self, workload: Any, cpus: Sequence[int]) -> Iterator[Message]:
        """Yield the commands of a resolved workload, in their order."""

    def with_variables(self, workload: Any, variables: Sequence[str]) -> Workload | None:
        """Give NAME=VALUE to the commands of the workload; None: it has none."""
        del workload, variables
        return None

    def with_parameter(self, workload: Any, name: str, value: str) -> Workload:
        """Return the workload with a parameter of all its points changed; raises RequestError."""
        del workload, value
        raise RequestError(f"workload:{name[:40]} is for the workloads switch, memory and clock")


class ActivationRules(WorkloadRules):
    """What workloads with activations have in common."""

    @abstractmethod
    def start(self, workload: Any, cpus: Sequence[int]) -> Message:
        """Return the command that starts the workload."""

    def script(self, workload: Any, cpus: Sequence[int]) -> Iterator[Message]:
        """Yield the command that starts it."""
        yield self.start(workload, cpus)

    def check(self, plan: RunPlan) -> None:
        """Raise RequestError for a duration or a recorder that cannot be."""
        workload = plan.activations
        if workload is None:
            return
        if not workload.interval_ns <= workload.duration_ns <= MAX_DURATION_NS:
            raise RequestError("--for must be at least one interval and at most 30 days")
        engine = workload.recorder.engine if workload.recorder is not None else "best"
        if engine not in ("best", "bpf", "tracefs"):
            raise RequestError(f"unknown recorder {engine!r}: expected best, bpf or tracefs")


class BenchmarkRules(WorkloadRules):
    """What benchmarks have in common."""

    #: How a user writes the benchmark.
    table: ClassVar[type[BenchmarkTable]]
    #: By the names that knobs and study plans have.
    parameters: ClassVar[Mapping[str, Parameter]] = {}

    @abstractmethod
    def check_point(self, point: Any) -> None:
        """Raise RequestError for a point that no board can measure."""

    @abstractmethod
    def check_cpus(self, cpus: Sequence[int]) -> None:
        """Raise RequestError for CPUs that the points cannot be pinned to."""

    @abstractmethod
    def pin(self, point: Any, cpus: Sequence[int] | None, available: Sequence[int]) -> Any:
        """Return a point pinned to the CPUs asked for, or to a default of those available."""

    @abstractmethod
    def turn(self, workload: Any, number: int) -> Message:
        """Return the command that makes a turn."""

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
            raise RequestError("a point is asked for twice")
        if not 1 <= workload.rounds <= MAX_ROUNDS:
            raise RequestError(f"--rounds must lie between 1 and {MAX_ROUNDS}")
        if not 1 <= workload.repetitions <= MAX_REPETITIONS:
            raise RequestError(f"--repetitions must lie between 1 and {MAX_REPETITIONS}")
        check_counter_plans(workload.counters)
        self.check_block(workload.block_ns)
        if not 0 <= workload.priority <= 99:
            raise RequestError("--priority must lie between 1 and 99 (SCHED_FIFO)")
        for point in points:
            self.check_point(point)
        if plan.cpus is not None:
            if workload.free:
                raise RequestError(
                    "--free lets the scheduler choose, and --cpus says where: say one"
                )
            self.check_cpus(plan.cpus)

    def check_block(self, block_ns: int) -> None:
        """Raise RequestError for repetitions that are too short or too long."""
        if not 100_000 <= block_ns <= 60_000_000_000:
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
                f"the workload {workload.kind} has no {name[:40]!r} for a knob: "
                f"it has {', '.join(self.parameters) or 'none'}"
            )
        field, parse = self.parameters[name]
        parsed = parse(value)
        if parsed is None:
            raise RequestError(f"{name} = {value[:40]!r}: invalid value")
        if not any(self.has(point, field) for point in workload.points):
            raise RequestError(f"nothing that is measured has {name}: it would change nothing")
        changed = [
            msgspec.structs.replace(point, **{field: parsed}) if self.has(point, field) else point
            for point in workload.points
        ]
        different = {msgspec.json.encode(point): point for point in changed}
        replaced: Workload = msgspec.structs.replace(workload, points=list(different.values()))
        self.check(RunPlan(workload=replaced))
        return replaced


def _order(points: int, rounds: int, seed: int) -> list[int]:
    """Return the point of each turn: every round has each once, in an order of its own."""
    rng = random.Random(seed)  # noqa: S311 (an order that repeats, no secret)
    order: list[int] = []
    for _ in range(rounds):
        turns = list(range(points))
        rng.shuffle(turns)
        order += turns
    return order


def check_counter_plans(counters: Sequence[CounterPlan]) -> None:
    """Raise RequestError for events that no CPU has, or too many."""
    if len(counters) > MOST_COUNTERS:
        raise RequestError(f"--counters takes up to {MOST_COUNTERS} events")
    try:
        check_counters([counter.name for counter in counters])
    except CounterError as error:
        raise RequestError(str(error)) from None


def resolve_counters(counters: Sequence[CounterPlan], model: str | None) -> list[CounterPlan]:
    """Return counters with their codes on a CPU of that model; raises RequestError."""
    try:
        return list(counters_named([counter.name for counter in counters], model))
    except CounterError as error:
        raise RequestError(str(error)) from None


def parse_priority(value: str) -> int:
    """Return a SCHED_FIFO priority; raises RequestError."""
    if not value.isdecimal() or not 1 <= int(value) <= 99:
        raise RequestError("knob priority: it lies between 1 and 99 (SCHED_FIFO)")
    return int(value)


def one_of(words: Sequence[str]) -> Callable[[str], str | None]:
    """Return a parser of one of some words."""
    return lambda word: word if word in words else None


def check_words(words: Sequence[str], limit: int, *, bytes_a_word: int = 0) -> None:
    """Raise RequestError for a command that does not fit into one message of `limit` bytes."""
    size = sum(len(word.encode(errors="surrogateescape")) + bytes_a_word for word in words)
    if len(words) > MOST_WORDS or size > limit:
        raise RequestError(
            f"the command has more than {MOST_WORDS} words or {limit} bytes: put it into a script"
        )
