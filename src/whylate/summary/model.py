"""The summary of one recording: the figures that the terminal, the JSON and the report print."""

from __future__ import annotations

from typing import Literal

import msgspec

from whylate.recording.manifest import CrashReport, HitReport, LoadReport
from whylate.recording.plan import FaultPlan
from whylate.recording.sections import SectionAccount, SectionFloor
from whylate.recording.workloads.app import Target
from whylate.summary.arms import ExperimentFigures
from whylate.summary.executions import CounterFigures, FittedLine


class Estimate(msgspec.Struct, frozen=True):
    """A quantile or the maximum, in ns, with a 95 % interval conditional on this run.

    value None: refused, for `reason`. high None: no finite upper bound.
    at_least: overruns lie below it, so that it is a lower bound (printed with ≥).
    effective_n: effective sample size behind the interval; None for the maximum.
    """

    value: int | None
    low: int | None
    high: int | None
    at_least: bool = False
    effective_n: float | None = None
    reason: str | None = None


class Exceedance(msgspec.Struct, frozen=True):
    """The bound above the largest latency of the run, `above_ns`.

    With 95 % confidence an episode above it (late activations whose windows overlap, on whatever
    CPU, are one) comes less often than once in `once_in_s` seconds, and fewer than `fraction` of
    all activations are above it: 3 in effective_n = extremal_index * n. None where refused, with
    `reason`.
    """

    above_ns: int | None
    once_in_s: float | None
    episode_index: float | None
    fraction: float | None
    extremal_index: float | None
    effective_n: float | None
    reason: str | None = None


class StageFigures(msgspec.Struct, frozen=True):
    """Distribution of the time from due to a stage on the way to running.

    seen: activations whose stage was seen. not_seen: all others, overruns among them; what is
    known of those is that it took no longer than their latency.
    """

    seen: int
    not_seen: int
    #: Keys as those of Figures.latency_ns.
    latency_ns: dict[str, Estimate]


class Figures(msgspec.Struct, frozen=True):
    """Accounting and distribution of one CPU, or of all together (cpu None)."""

    cpu: int | None
    expected: int
    seen: int
    overrun: int
    dropped: int
    min_ns: int | None
    #: Keys "p50", "p90", "p99", "p99.9", "p99.99", "max", in that order.
    latency_ns: dict[str, Estimate]
    #: Interrupt and thread latency by the names of whylate.summary.stages; none where nothing
    #: but the latency was recorded.
    stages: dict[str, StageFigures] = {}


class ThreadFigures(msgspec.Struct, frozen=True):
    """The distribution of one thread of a watched program, wherever it ran.

    What was dropped is known by CPU alone.
    """

    pid: int
    #: None where it is not known.
    name: str | None
    seen: int
    min_ns: int
    #: As in Figures.
    latency_ns: dict[str, Estimate]


class WaitFigures(msgspec.Struct, frozen=True):
    """Waits before wakeups that are alike: their time is in no latency.

    pid None: of all threads, where there was no room for a group of their own. origin: what ended
    them (timer, interrupt, softirq, thread), None there. waker: the thread that did; None where
    none did, or it is not known. system_call, futex: what they waited in, the futex as its address
    in the program; None where they waited in none, or it is not known.
    p50_ns, p99_ns: of the bin, 16 an octave, the middle: at most 3.2 % off; None with fewer than
    10 waits beyond it.
    """

    pid: int | None
    name: str | None
    system_call: str | None
    futex: str | None
    state: str
    origin: str | None
    waker: int | None
    waker_name: str | None
    count: int
    total_ns: int
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int


class EventFigures(msgspec.Struct, frozen=True):
    """An event that was counted of the measuring threads.

    per_activation: of all threads together, by the activations that were seen. per_cpu: the whole
    count of each thread.
    """

    name: str
    per_activation: float
    per_cpu: dict[int, int]


class MainLock(msgspec.Struct, frozen=True):
    """The group of waits for a lock (LockFigures) that has most of what longer executions waited.

    share: at least so much of it: of waits in all executions no more are for other locks. lock,
    kind, callers: as there.
    """

    share: float
    lock: str | None
    kind: str
    callers: list[str]


class ExecutionClassFigures(msgspec.Struct, frozen=True):
    """Executions that took longer, mostly for one reason (whylate.stats.executions.parts).

    share: of the excess of all longer executions, spent so, with its interval at 95 %; low and high
    are None where nothing bounds it. count: executions of the class. longest_ns: the longest of
    them, on that CPU, with that number, in that thread; None of none. waits: of the class of waits
    for a lock, which; None: of no lock is it known that it has most of them.
    """

    name: str
    share: float
    low: float | None
    high: float | None
    count: int
    longest_ns: int | None
    cpu: int | None
    number: int | None
    pid: int | None
    waits: MainLock | None = None


class LongerFigures(msgspec.Struct, frozen=True):
    """Why some executions took longer than most.

    above_ns: longer is what took more. count: longer executions, of so many that have a row.
    excess_ns: what they took beyond the mean of the others, all together. classes: the largest
    share first; none where there is nothing to compare. not_observed: what is not known of threads.
    overlapping: executions, of those that were read, whose parts are longer than the whole.
    own_code_lacks: what would have to be counted to tell code from data in own code; [] nothing.
    """

    above_ns: int
    count: int
    of: int
    excess_ns: int
    classes: list[ExecutionClassFigures]
    not_observed: list[str]
    overlapping: int = 0
    own_code_lacks: list[str] = []


class SectionCounters(msgspec.Struct, frozen=True):
    """What was counted between the marks of executions of a section.

    own: executions that have counts; refused, shared: that have none (whylate.recording.sections).
    counters, fits: of executions that have; of very many, of some that were drawn at random.
    classes: of longer executions without a class by time, by counters: how many, those that
    have a share of the excess in LongerFigures; None: no_classes says why.
    hooks: by counter, the median of an empty section, which counts include; None: not known.
    """

    own: int
    refused: int
    shared: int
    counters: list[CounterFigures]
    fits: list[FittedLine]
    classes: dict[str, int] | None
    no_classes: str | None
    hooks: dict[str, int] | None


class LockFigures(msgspec.Struct, frozen=True):
    """Waits for locks in a section that have the same callers.

    lock: its name, or its address; None where there were several, or it is not known. kind: "spin
    lock", "mutex" and so on. callers: of what locks, the innermost first, without offsets; "?"
    where no name is known; none: all waits that have no group of their own.
    """

    lock: str | None
    kind: str
    callers: list[str]
    count: int
    total_ns: int
    longest_ns: int


class LongExecution(msgspec.Struct, frozen=True):
    """One execution. number: of those that were kept on its CPU; began_ns: since the start.

    parts: by the names of classes, ns. is_drawn: it is part of the sample, and was not kept only
    because it took long.
    """

    duration_ns: int
    began_ns: int
    cpu: int
    number: int
    pid: int
    parts: dict[str, int]
    is_drawn: bool


class KeptFigures(msgspec.Struct, frozen=True):
    """Every execution that took longer than above_ns has a row.

    apart: those of them that were not drawn: they are in no other figure. dropped: rows that were
    lost, of any kind. longest: of all rows, the longest first.
    """

    above_ns: int
    apart: int
    dropped: int
    longest: list[LongExecution]


class PathFigures(msgspec.Struct, frozen=True):
    """Executions that ended with the same callers.

    callers: the innermost first, without offsets; "?" where a name is not known; none: all that
    have no group of their own. longer: executions that took longer; total_ns, longest_ns: of them.
    control: of the control sample. share, control_share: of all that have a path; None of none.
    """

    callers: list[str]
    longer: int
    total_ns: int
    longest_ns: int
    control: int
    share: float | None
    control_share: float | None


class DifferingFunction(msgspec.Struct, frozen=True):
    """A function that is in paths of longer executions more often: the outermost that is.

    longer, control: in so many of them. low, high: 95 % interval of the difference of their shares.
    """

    name: str
    longer: int
    control: int
    low: float
    high: float


class PathsFigures(msgspec.Struct, frozen=True):
    """Call paths at the ends of executions that took longer than above_ns, and of a control sample.

    Or those at which each was seen in its own code, of one time that was drawn.

    above_ns None: too few executions came before the run to know a median. longer, control: that
    have a path. lost: longer executions that have none. paths: of most longer executions first.
    """

    above_ns: int | None
    longer: int
    control: int
    lost: int
    paths: list[PathFigures]
    #: Of samples: the function that longer executions are in more often; None: none surely is.
    differing: DifferingFunction | None = None


class SectionFigures(msgspec.Struct, frozen=True):
    """How executions of a section were timed, and what became of all of them.

    hook: what ran where it begins and ends. one_in: of so many executions one was drawn: the
    quantiles are of those. account: None where the run broke before its end. longest_ns: all
    executions took less; None where none returned.
    """

    hook: str
    one_in: int
    account: SectionAccount | None
    longest_ns: int | None
    #: Where they were asked for: waits for locks, the longest total first.
    locks: list[LockFigures] = []
    #: None where no limit was given.
    kept: KeptFigures | None = None
    #: None where they were not asked for.
    paths: PathsFigures | None = None
    #: The same of where executions were seen in their own code.
    samples: PathsFigures | None = None
    #: How long an empty section takes, before the run and after it.
    floor_before: SectionFloor | None = None
    floor_after: SectionFloor | None = None
    #: Of the executions that have a row; None where none has.
    duration: CounterFigures | None = None
    #: None where no execution has a row.
    longer: LongerFigures | None = None
    #: None where no event was counted.
    counters: SectionCounters | None = None
    #: None where nothing was done before executions; else all figures beside it are the placebo's.
    experiment: ExperimentFigures | None = None


class AddedFigure(msgspec.Struct, frozen=True):
    """What the recorder adds to a quantile: with it and without, ns, their difference and ratio.

    The intervals are at 95 %, over groups of blocks of time.
    """

    name: str
    attached_ns: int
    detached_ns: int
    added_ns: int
    low_ns: int
    high_ns: int
    ratio: float
    ratio_low: float
    ratio_high: float


class ObserverEffect(msgspec.Struct, frozen=True):
    """What the recorder adds to the latencies of its run, measured by detaching it for a while.

    detached_ns: how long it was detached. groups: of `every` blocks of block_ns each, of which one
    was without it. switches: how often it was detached or attached. attached, detached:
    activations that are compared; left_out: those near a switch, or in a group without both.
    added: none where it is refused, for `reason`.
    """

    detached_ns: int
    block_ns: int
    every: int
    groups: int
    switches: int
    attached: int
    detached: int
    left_out: int
    added: list[AddedFigure]
    reason: str | None = None


class Caution(msgspec.Struct, frozen=True):
    """A warning that does not void the run."""

    code: str
    text: str


class Trust(msgspec.Struct, frozen=True):
    """Whether the run may be judged: "ok", or "no verdict" with its reasons."""

    verdict: Literal["ok", "no verdict"]
    reasons: list[str]


class Requirement(msgspec.Struct, frozen=True):
    """One --require with its verdict and one sentence why."""

    text: str
    verdict: Literal["pass", "fail", "inconclusive", "no verdict"]
    why: str


class RecordingSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What is printed of every recording, whatever was measured."""

    recording: str
    board: str
    state: str
    created: str
    kernel: str | None
    cpu_model: str | None
    workload: str
    trust: Trust
    loads: list[LoadReport]
    warnings: list[Caution]
    interval_note: str
    #: In the virtual time of a virtual board: repeatable, and no measure of hardware.
    virtual_time: bool = False
    #: Functions, tracepoints and lines of the facts of the plan's `hits`.
    hits: list[HitReport] = []


class Summary(RecordingSummary, frozen=True, kw_only=True):
    """Everything that is printed of a recording of latencies."""

    interval_ns: int
    priority: int
    planned_ns: int
    elapsed_ns: int
    together: Figures
    per_cpu: list[Figures]
    exceedance: Exceedance
    requirements: list[Requirement]
    #: SHA-256 of all samples: equal for runs that repeat each other. None in old recordings.
    samples_sha256: str | None = None
    seed: int = 0
    phase_ns: int = 0
    crashes: list[CrashReport] = []
    #: Faults that were injected on a virtual board.
    causes: list[FaultPlan] = []
    #: The program that was watched; None of another workload.
    app: Target | None = None
    #: How many of its threads woke, and the figures of the slowest of them, the slowest first.
    threads: int = 0
    #: Events that were counted besides the time.
    events: list[EventFigures] = []
    per_thread: list[ThreadFigures] = []
    #: What its threads waited for before they were woken, and wakeups of which no wait is known.
    waits: list[WaitFigures] = []
    wakeups_without_wait: int = 0
    #: None where the recorder stayed attached, or nothing was recorded.
    observer: ObserverEffect | None = None
    #: None of another workload.
    section: SectionFigures | None = None
    #: What a row is of: activations, or executions of a section; and what is measured of each: its
    #: latency, or its duration.
    counted: str = "activations"
    quantity: str = "latency"
    #: Which program was watched, or which section timed; empty of another workload.
    subject: str = ""

    @property
    def scheduled(self) -> bool:
        """Whether activations come at planned times, so that some may be overrun."""
        return self.app is None and self.section is None

    @property
    def worst(self) -> str:
        """What the largest latency, or duration, is called."""
        return "worst" if self.quantity == "latency" else "longest"
