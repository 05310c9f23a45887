"""What a user asks of a run, and the plan that it becomes on a board."""

from __future__ import annotations

from dataclasses import dataclass

from whylate.recording.manifest import CausePlan, LoadPlan, Plan, RecorderPlan, Setting

MIN_INTERVAL_NS = 50_000
MAX_INTERVAL_NS = 10_000_000_000
MAX_DURATION_NS = 30 * 86_400 * 1_000_000_000
#: Kinds of loads in the probe (probe/src/loads/loads.c); `cmd` takes a command.
LOAD_KINDS = ("memory", "switch", "net", "fork", "mmap", "timer", "disk", "cmd")
MAX_LOAD_COUNT = 64


#: As in the probe (probe/src/commands.c).
MAX_PHASE_NS = 10_000_000_000


#: Recorded as late are twice as many as are by the last count: which those will be is not known
#: while they come.
RECORDED_PPM = 2000
BODY_EVERY = 1000


def recorder_plan(engine: str = "best", threshold_ns: int | None = None) -> RecorderPlan:
    """Return what the flight recorder does unless told otherwise."""
    if engine not in ("best", "bpf", "tracefs"):
        raise RequestError(f"there is no recorder {engine!r}: there are best, bpf and tracefs")
    return RecorderPlan(engine, threshold_ns, RECORDED_PPM, BODY_EVERY)  # type: ignore[arg-type]


class RequestError(Exception):
    """Something was asked for that cannot be done: one line that says what to ask instead."""


@dataclass(frozen=True)
class Request:
    """A run of the wakeup workload as asked for. cpus None: all that the board has."""

    duration_ns: int
    interval_ns: int
    cpus: tuple[int, ...] | None
    priority: int
    allow_idle_states: bool
    spool: bool
    loads: tuple[LoadPlan, ...]
    settings: tuple[Setting, ...]
    virtual_time: bool = False
    seed: int = 0
    phase_ns: int = 0
    #: Known causes that act meanwhile, in virtual time.
    causes: tuple[CausePlan, ...] = ()
    #: Any text gives the causes names that say nothing (whylate.lab.causes.alias).
    disguise: str = ""
    #: None: nothing is recorded beside the samples.
    recorder: RecorderPlan | None = None


def check(request: Request) -> None:
    """Raise RequestError for what no board could do."""
    if not MIN_INTERVAL_NS <= request.interval_ns <= MAX_INTERVAL_NS:
        raise RequestError("--interval must lie between 50us and 10s")
    if not request.interval_ns <= request.duration_ns <= MAX_DURATION_NS:
        raise RequestError("--for must be at least one interval and at most 30 days")
    if not 1 <= request.priority <= 99:
        raise RequestError("--priority must lie between 1 and 99 (SCHED_FIFO)")
    if request.causes and not request.virtual_time:
        raise RequestError(
            "--cause acts in virtual time (--virtual-time); `whylate lab inject` is for real time"
        )
    if not 0 <= request.phase_ns <= MAX_PHASE_NS:
        raise RequestError("the start phase must lie between 0 and 10s")
    if request.cpus is not None and len(set(request.cpus)) != len(request.cpus):
        raise RequestError("--cpus names a CPU twice")


def plan_for(request: Request, available: tuple[int, ...]) -> Plan:
    """Return the plan on a board with these CPUs; raises RequestError."""
    check(request)
    cpus = request.cpus if request.cpus is not None else available
    absent = [cpu for cpu in cpus if cpu not in available]
    if absent:
        raise RequestError(
            f"CPU {absent[0]} is not there: the board has {format_cpus(available)} to run on"
        )
    if not cpus:
        raise RequestError("the board offers no CPU to measure")
    return Plan(
        workload="wakeup",
        duration_ns=request.duration_ns,
        interval_ns=request.interval_ns,
        cpus=sorted(cpus),
        priority=request.priority,
        allow_idle_states=request.allow_idle_states,
        spool=request.spool,
        loads=list(request.loads),
        settings=list(request.settings),
        virtual_time=request.virtual_time,
        seed=request.seed,
        phase_ns=request.phase_ns,
        causes=list(request.causes),
        recorder=request.recorder,
    )


def format_cpus(cpus: tuple[int, ...]) -> str:
    """Return CPUs as the kernel lists them: 0-3,8."""
    parts: list[str] = []
    ordered = sorted(cpus)
    start = 0
    for i in range(1, len(ordered) + 1):
        if i == len(ordered) or ordered[i] != ordered[i - 1] + 1:
            first, last = ordered[start], ordered[i - 1]
            parts.append(str(first) if first == last else f"{first}-{last}")
            start = i
    return ",".join(parts)
