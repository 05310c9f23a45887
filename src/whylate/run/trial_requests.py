"""What a user asks of a workload that has trials, and the plan that it becomes on a board."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from whylate.recording.points import (
    CLOCKS,
    OVERS,
    PAGES,
    ROUTINES,
    SOURCES,
    WHATS,
    ClockPoint,
    CommandPoint,
    MemoryPoint,
    Point,
    SwitchPoint,
    TrialsPlan,
    TrialWorkload,
    workload_of_points,
)
from whylate.run.counters import CounterError, check_counters, counters_named
from whylate.run.sweeps import has_parameter, parse_count, parse_size
from whylate.wire.constants import (
    MOST_CLOCK_THREADS,
    MOST_COMMAND_BYTES,
    MOST_COUNTERS,
    MOST_TASKS,
    MOST_WORDS,
    SMALLEST_BUFFER,
)

#: More points than these no run has.
MOST_POINTS = 200
MOST_ROUNDS = 1000
MOST_REPETITIONS = 1000
_MOST_EXPRESSION = 1000
_KINDS = {"process": False, "thread": True}
#: What knobs change of each workload, by the names that plans have for it: the field of a point,
#: and what a word means; None: nothing.
_PARAMETERS: dict[TrialWorkload, dict[str, tuple[str, Callable[[str], object]]]] = {
    "switch": {
        "tasks": ("tasks", parse_count),
        "set_size": ("set_bytes", parse_size),
        "over": ("over", lambda word: word if word in OVERS else None),
        "kind": ("threads", _KINDS.get),
    },
    "memory": {
        "ops": ("what", lambda word: word if word in WHATS else None),
        "sizes": ("size", parse_size),
        "source": ("source", lambda word: word if word in SOURCES else None),
        "pages": ("pages", lambda word: word if word in PAGES else None),
        "routine": ("routine", lambda word: word if word in ROUTINES else None),
    },
    "clock": {
        "clocks": ("clock", lambda word: word if word in CLOCKS else None),
        "threads": ("threads", parse_count),
        "via": ("how", lambda word: word if word in ("libc", "syscall") else None),
    },
    "cmd": {},
}
#: How long a block is, where nothing is said.
BLOCK_NS: dict[TrialWorkload, int] = {
    "switch": 50_000_000,
    "memory": 20_000_000,
    "clock": 50_000_000,
    "cmd": 1,
}


class TrialsError(ValueError):
    """Trials were asked for that cannot be made: one line that says what to ask instead."""


@dataclass(frozen=True)
class TrialsRequest:
    """Trials as asked for. block_ns None: what the workload has for that.

    free: tasks run wherever they are put; else on the CPUs of the run, by default on its first, or
    threads of a clock on all of them.
    """

    points: tuple[Point, ...]
    rounds: int = 10
    repetitions: int = 5
    block_ns: int | None = None
    priority: int = 0
    free: bool = False
    counters: tuple[str, ...] = ()

    @property
    def workload(self) -> TrialWorkload:
        """The workload that the points are of."""
        return workload_of_points(self.points)


def check_trials(trials: TrialsRequest) -> None:
    """Raise TrialsError for what no board could do."""
    if not 1 <= len(trials.points) <= MOST_POINTS:
        raise TrialsError(
            f"{len(trials.points)} points are more than the {MOST_POINTS} that a run takes"
        )
    if len(set(_identities(trials.points))) < len(trials.points):
        raise TrialsError("a point is asked for twice")
    if not 1 <= trials.rounds <= MOST_ROUNDS:
        raise TrialsError(f"--rounds must lie between 1 and {MOST_ROUNDS}")
    if not 1 <= trials.repetitions <= MOST_REPETITIONS:
        raise TrialsError(f"--repetitions must lie between 1 and {MOST_REPETITIONS}")
    if len(trials.counters) > MOST_COUNTERS:
        raise TrialsError(f"--counters takes up to {MOST_COUNTERS} events")
    try:
        check_counters(trials.counters)
    except CounterError as error:
        raise TrialsError(str(error)) from None
    if trials.block_ns is not None and not 100_000 <= trials.block_ns <= 60_000_000_000:
        raise TrialsError("--block must lie between 100us and 60s")
    _check_priority(trials)
    for one in trials.points:
        _check_point(one)


def _check_priority(trials: TrialsRequest) -> None:
    if not 0 <= trials.priority <= 99:
        raise TrialsError("--priority must lie between 1 and 99 (SCHED_FIFO)")
    if trials.priority and trials.workload != "switch":
        raise TrialsError(f"--priority: nothing of the workload {trials.workload} would have it")


def check_places(trials: TrialsRequest, cpus: Sequence[int] | None) -> None:
    """Raise TrialsError for CPUs that nothing would run on. cpus: those that were asked for."""
    if cpus is None:
        return
    if trials.free:
        raise TrialsError("--free lets the scheduler choose, and --cpus says where: say one")
    if trials.workload == "cmd":
        raise TrialsError("--cpus is not of the workload cmd: put taskset -c before the command")
    if trials.workload == "memory" and len(cpus) > 1:
        raise TrialsError("--cpus: one CPU uses a buffer at a time: name one")


def _identities(points: Sequence[Point]) -> list[bytes]:
    return [msgspec.json.encode(one) for one in points]


def _check_point(point: Point) -> None:
    if isinstance(point, SwitchPoint):
        if not 1 <= point.tasks <= MOST_TASKS:
            raise TrialsError(f"--tasks must lie between 1 and {MOST_TASKS}")
        if not 0 <= point.set_bytes < 1 << 40:
            raise TrialsError("--set-size must lie between 0 and 1 TiB")
    elif isinstance(point, MemoryPoint):
        if not SMALLEST_BUFFER <= point.size < 1 << 46:
            raise TrialsError("--sizes must lie between 4 KiB and 64 TiB")
        if point.size % 64:
            raise TrialsError(f"--sizes: {point.size} bytes are not whole lines of 64")
    elif isinstance(point, ClockPoint):
        _check_clock(point)
    else:
        _check_command(point)


def _check_clock(point: ClockPoint) -> None:
    if point.how in ("libc", "syscall") and point.clock not in CLOCKS:
        raise TrialsError(f"--clocks: there is no {point.clock[:40]!r}: {', '.join(CLOCKS)}")
    if not 1 <= point.threads <= MOST_CLOCK_THREADS:
        raise TrialsError(f"--threads must lie between 1 and {MOST_CLOCK_THREADS}")
    if point.how == "device" and not 100 <= point.service_ns <= 1_000_000_000:
        raise TrialsError("--via device needs --service, between 100ns and 1s")
    if point.how == "device" and not 0 <= point.think_ns <= 10_000_000_000:
        raise TrialsError("--think must lie between 0 and 10s")


def _check_command(point: CommandPoint) -> None:
    words = [*point.env, *point.argv]
    size = sum(len(word.encode(errors="surrogateescape")) + 1 for word in words)
    if not point.argv or not point.argv[0]:
        raise TrialsError("--workload cmd runs a command: write it behind --")
    if len(words) >= MOST_WORDS or size > MOST_COMMAND_BYTES:
        raise TrialsError(
            f"the command has more than {MOST_WORDS} words or {MOST_COMMAND_BYTES} bytes: put it "
            "into a script"
        )
    if any("\0" in word for word in words):
        raise TrialsError("a word of the command has a NUL in it")
    if point.value is None:
        return
    try:
        groups = re.compile(point.value, re.MULTILINE).groups
    except re.error as error:
        raise TrialsError(f"--value is no regular expression: {error}") from None
    if len(point.value) > _MOST_EXPRESSION or groups > 1:
        raise TrialsError("--value takes an expression with one group, which is the number")


def trials_plan(
    trials: TrialsRequest,
    cpus: tuple[int, ...] | None,
    available: tuple[int, ...],
    seed: int,
    model: str | None = None,
) -> TrialsPlan:
    """Return the plan on a board with these CPUs of that model; raises TrialsError.

    cpus: those that were asked for.
    """
    try:
        counters = list(counters_named(trials.counters, model))
    except CounterError as error:
        raise TrialsError(str(error)) from None
    points = [_placed(one, trials, cpus, available) for one in trials.points]
    return TrialsPlan(
        points=points,
        rounds=trials.rounds,
        repetitions=1 if trials.workload == "cmd" else trials.repetitions,
        block_ns=trials.block_ns or BLOCK_NS[trials.workload],
        order=_order(len(points), trials.rounds, seed),
        priority=trials.priority,
        counters=counters,
    )


def _placed(
    point: Point,
    trials: TrialsRequest,
    cpus: tuple[int, ...] | None,
    available: tuple[int, ...],
) -> Point:
    if isinstance(point, CommandPoint) or trials.free:
        return point
    if isinstance(point, ClockPoint):
        return msgspec.structs.replace(point, cpus=cpus or available)
    where = cpus or available[:1]
    if isinstance(point, SwitchPoint):
        return msgspec.structs.replace(point, cpus=where)
    return msgspec.structs.replace(point, cpu=where[0])


def _order(points: int, rounds: int, seed: int) -> list[int]:
    """Return the point of each trial: every round has each once, in an order of its own."""
    rng = random.Random(seed)  # noqa: S311 (an order that repeats, no secret)
    order: list[int] = []
    for _ in range(rounds):
        one = list(range(points))
        rng.shuffle(one)
        order += one
    return order


def with_parameter(trials: TrialsRequest, name: str, value: str) -> TrialsRequest:
    """Return the request with a parameter of all of its points changed; raises TrialsError.

    name: as the tables of a plan have it.
    """
    parameters = _PARAMETERS[trials.workload]
    if name not in parameters:
        raise TrialsError(
            f"the workload {trials.workload} has no {name[:40]!r} for a knob: "
            f"it has {', '.join(parameters) or 'none'}"
        )
    field, meaning = parameters[name]
    found = meaning(value)
    if found is None:
        raise TrialsError(f"{name} = {value[:40]!r} is none that it may be")
    if not any(_has(one, field) for one in trials.points):
        raise TrialsError(f"nothing that is measured has {name}: it would change nothing")
    changed = [
        msgspec.structs.replace(one, **{field: found}) if _has(one, field) else one
        for one in trials.points
    ]
    different = {msgspec.json.encode(one): one for one in changed}
    changed_request = replace(trials, points=tuple(different.values()))
    check_trials(changed_request)
    return changed_request


def _has(point: Point, field: str) -> bool:
    """Whether a field means something at a point."""
    if isinstance(point, MemoryPoint):
        return has_parameter(point.what, field)
    if isinstance(point, ClockPoint) and field in ("clock", "how"):
        return point.how in ("libc", "syscall")
    return True
