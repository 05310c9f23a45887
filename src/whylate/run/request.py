"""What a user asks of a run, and the plan that it becomes on a board."""

from __future__ import annotations

from dataclasses import dataclass

from whylate.recording.manifest import (
    AppPlan,
    CausePlan,
    LoadPlan,
    Plan,
    RecorderPlan,
    Setting,
    UntilPlan,
)
from whylate.recording.points import CounterPlan
from whylate.run.counters import CounterError, check_counters, counters_named
from whylate.run.trial_requests import (
    TrialsError,
    TrialsRequest,
    check_places,
    check_trials,
    trials_plan,
)
from whylate.wire.app_samples import MAX_PID
from whylate.wire.constants import (
    LEAST_INTERVAL_NS,
    LOADS,
    LONGEST_COMM,
    LONGEST_PHASE_NS,
    MOST_COUNTERS,
    MOST_WORDS,
)

#: Stands for each CPU of the board in the path of a setting.
EACH_CPU = "{cpu}"
MAX_INTERVAL_NS = 10_000_000_000
MAX_DURATION_NS = 30 * 86_400 * 1_000_000_000
#: `cmd` takes a command.
LOAD_KINDS = tuple(LOADS)
MAX_LOAD_COUNT = 64
#: A command travels in one message.
MAX_COMMAND_BYTES = 3000


#: Recorded as late are twice as many as are by the last count: which those will be is not known
#: while they come.
RECORDED_PPM = 2000
BODY_EVERY = 1000


def recorder_plan(
    engine: str = "best", threshold_ns: int | None = None, stop_above_ns: int | None = None
) -> RecorderPlan:
    """Return what the flight recorder does unless told otherwise."""
    if engine not in ("best", "bpf", "tracefs"):
        raise RequestError(f"there is no recorder {engine!r}: there are best, bpf and tracefs")
    return RecorderPlan(
        engine,  # type: ignore[arg-type]
        threshold_ns,
        RECORDED_PPM,
        BODY_EVERY,
        stop_above_ns,
    )


class RequestError(Exception):
    """Something was asked for that cannot be done: one line that says what to ask instead."""


@dataclass(frozen=True)
class Request:
    """A run as asked for. cpus None: all that the board has.

    app: the program that is watched; None: the wakeup workload. Of interval, CPUs, priority and
    idle states a watched program has its own.
    """

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
    app: AppPlan | None = None
    #: None: it runs for its time.
    until: UntilPlan | None = None
    #: Of the workloads that have repetitions instead of activations; its duration is its own.
    trials: TrialsRequest | None = None
    #: Events that are counted of each measuring thread, by perf's names.
    counters: tuple[str, ...] = ()


def check(request: Request) -> None:
    """Raise RequestError for what no board could do."""
    if request.causes and not request.virtual_time:
        raise RequestError(
            "--cause acts in virtual time (--virtual-time); `whylate lab inject` is for real time"
        )
    if request.cpus is not None and len(set(request.cpus)) != len(request.cpus):
        raise RequestError("--cpus names a CPU twice")
    if request.trials is not None:
        _check_trials(request.trials, request)
    else:
        _check_wakeups(request)


def _check_wakeups(request: Request) -> None:
    if request.app is not None:
        check_app(request.app, request)
    elif not LEAST_INTERVAL_NS <= request.interval_ns <= MAX_INTERVAL_NS:
        raise RequestError("--interval must lie between 50us and 10s")
    if not request.interval_ns <= request.duration_ns <= MAX_DURATION_NS:
        raise RequestError("--for must be at least one interval and at most 30 days")
    if request.app is None and not 1 <= request.priority <= 99:
        raise RequestError("--priority must lie between 1 and 99 (SCHED_FIFO)")
    _counters(request.counters, None, check_only=True)
    if request.until is not None and (request.spool or request.virtual_time or request.app):
        raise RequestError(
            "--until looks at samples while they come: not with --spool, --virtual-time or a "
            "program"
        )
    if not 0 <= request.phase_ns <= LONGEST_PHASE_NS:
        raise RequestError("the start phase must lie between 0 and 10s")


def _check_trials(trials: TrialsRequest, request: Request) -> None:
    try:
        check_trials(trials)
        check_places(trials, request.cpus)
    except TrialsError as error:
        raise RequestError(str(error)) from None
    if request.app is not None or request.until is not None or request.recorder is not None:
        raise RequestError(
            f"the workload {trials.workload} has repetitions, and no activations to record"
        )


def check_app(app: AppPlan, request: Request) -> None:
    """Raise RequestError for what no board could watch."""
    named = [one for one in (app.comm, app.pid, app.command) if one is not None]
    if len(named) != 1:
        raise RequestError(
            "--workload app watches one program: say --comm NAME, --pid N or -- COMMAND"
        )
    if request.counters:
        raise RequestError("--counters are of the probe's own threads: perf stat counts a program")
    if request.recorder is None:
        raise RequestError(
            "--workload app is measured by the recorder: say it without --no-recorder"
        )
    if request.virtual_time and app.pid is not None:
        raise RequestError(
            "--pid is of a program that runs already, and in virtual time the board boots first: "
            "say --comm NAME or -- COMMAND"
        )
    if app.comm is not None:
        _check_comm(app.comm)
    if app.pid is not None and not 1 <= app.pid <= MAX_PID:
        raise RequestError(f"--pid must lie between 1 and {MAX_PID}")
    if app.command is not None:
        size = sum(len(word.encode(errors="surrogateescape")) for word in app.command)
        if not app.command or not app.command[0]:
            raise RequestError("-- is followed by the command to watch")
        if len(app.command) > MOST_WORDS or size > MAX_COMMAND_BYTES:
            raise RequestError(
                f"the command has more than {MOST_WORDS} words or {MAX_COMMAND_BYTES} "
                "bytes: put it into a script"
            )


def _check_comm(comm: str) -> None:
    size = len(comm.encode(errors="surrogateescape"))
    if not comm or not comm.isprintable():
        raise RequestError("--comm is the name of a thread, as ps -L -o comm shows it")
    if size > LONGEST_COMM:
        cut = comm.encode(errors="surrogateescape")[:LONGEST_COMM].decode(errors="ignore")
        raise RequestError(
            f"--comm {comm}: the kernel keeps {LONGEST_COMM} bytes of a thread's name, say "
            f"--comm '{cut}'"
        )


def plan_for(request: Request, available: tuple[int, ...], model: str | None = None) -> Plan:
    """Return the plan on a board with these CPUs; raises RequestError.

    model: of its CPUs, as the fact cpu_model has it; None where it is not known.
    """
    check(request)
    cpus = request.cpus if request.cpus is not None else available
    absent = [cpu for cpu in cpus if cpu not in available]
    if absent:
        raise RequestError(
            f"CPU {absent[0]} is not there: the board has {format_cpus(available)} to run on"
        )
    if not cpus:
        raise RequestError("the board offers no CPU to measure")
    if request.trials is not None:
        return _trials_plan(request, request.trials, available, model)
    return Plan(
        workload="wakeup" if request.app is None else "app",
        duration_ns=request.duration_ns,
        interval_ns=request.interval_ns if request.app is None else 0,
        cpus=sorted(cpus),
        priority=request.priority if request.app is None else 0,
        allow_idle_states=request.allow_idle_states,
        spool=request.spool,
        loads=list(request.loads),
        settings=_for_each(request.settings, available),
        virtual_time=request.virtual_time,
        seed=request.seed,
        phase_ns=request.phase_ns,
        causes=list(request.causes),
        recorder=request.recorder,
        app=request.app,
        until=request.until,
        counters=_counters(request.counters, model),
    )


def _counters(
    names: tuple[str, ...], model: str | None, *, check_only: bool = False
) -> list[CounterPlan]:
    """Return events by their names; check_only: only whether any CPU may have them."""
    if len(names) > MOST_COUNTERS:
        raise RequestError(f"--counters takes up to {MOST_COUNTERS} events")
    try:
        if check_only:
            check_counters(names)
            return []
        return list(counters_named(names, model))
    except CounterError as error:
        raise RequestError(str(error)) from None


def _trials_plan(
    request: Request, trials: TrialsRequest, available: tuple[int, ...], model: str | None
) -> Plan:
    try:
        planned = trials_plan(trials, request.cpus, available, request.seed, model)
    except TrialsError as error:
        raise RequestError(str(error)) from None
    return Plan(
        workload=trials.workload,
        duration_ns=0,
        interval_ns=0,
        cpus=sorted(request.cpus if request.cpus is not None else available),
        priority=trials.priority,
        allow_idle_states=True,
        spool=False,
        loads=list(request.loads),
        settings=_for_each(request.settings, available),
        virtual_time=request.virtual_time,
        seed=request.seed,
        causes=list(request.causes),
        trials=planned,
    )


def _for_each(settings: tuple[Setting, ...], cpus: tuple[int, ...]) -> list[Setting]:
    """Return settings, those of each CPU once for each."""
    return [
        Setting(setting.path.replace(EACH_CPU, str(cpu)), setting.value)
        for setting in settings
        for cpu in (sorted(cpus) if EACH_CPU in setting.path else cpus[:1])
    ]


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
