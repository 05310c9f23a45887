"""The manifest of a recording: everything about a run that is not a sample.

It is written once, when a run ends or is recovered, and read by whatever judges the run. All
times are integers in nanoseconds on the board's CLOCK_MONOTONIC unless the name has another unit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from whylate.recording.bounds import Count, Cpu, Integer, Priority, Small, TimeNs
from whylate.recording.plan import RunPlan
from whylate.recording.sections import SectionReport
from whylate.recording.turns import TurnReport
from whylate.recording.waits import WaitReport

#: Name of its file in a recording.
MANIFEST = "manifest.json"
#: Version of the manifest and of the Parquet columns. A reader refuses a newer one and converts an
#: older one (whylate.recording.former_schema).
SCHEMA_VERSION = 6

#: complete: ran to its planned end. interrupted: ended early on purpose (Ctrl-C).
#: cut: ended early by a failure. recovered: made from the journal of a killed run.
State = Literal["complete", "interrupted", "cut", "recovered"]

FactValue = str | Integer | float | bool | list[str] | None


class CpuEvents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was counted of a CPU's measuring thread, from its go to its end, by event."""

    cpu: Cpu
    counts: dict[str, Count]


class CpuAccount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sample accounting of a CPU: expected = seen + overrun + dropped.

    Of the wakeup workload, `expected` comes from `start_ns`, `end_ns` and the interval alone: the
    activations due in [start_ns, end_ns); activation i was due at start_ns + i * interval_ns. Of
    the app workload it is what the probe counted between the two, and no overruns are.
    """

    cpu: Cpu
    start_ns: TimeNs
    end_ns: TimeNs
    expected: Count
    seen: Count
    overrun: Count
    dropped: Count
    #: The policy that the measuring thread really had ("fifo", "other", ...), read back after it
    #: started; without a meaning where there is none, as of the app workload.
    policy: str
    priority: Priority
    memory_locked: bool


class LoadDevice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the board's kernel counted a second of the device that a load drives, during the run.

    in: packets received, or requests and bytes read; out: packets sent, or requests and bytes
    written, whoever caused them. received, delivered: bytes of the load itself that arrived at the
    board and at its other end.
    """

    name: str
    #: Names of its interrupts in /proc/interrupts; none where it has none.
    lines: list[str]
    #: What the load was to send to the board and from it; 0: nothing, or as much as there can be.
    asked_in_bits_per_s: Count
    asked_out_bits_per_s: Count
    interrupts_before_per_s: float | None
    interrupts_per_s: float
    #: NET_RX, or BLOCK.
    softirqs_per_s: float
    in_count_per_s: float
    in_bytes_per_s: float
    out_count_per_s: float
    out_bytes_per_s: float
    received_per_s: float
    delivered_per_s: float


class LoadReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Work of a load per second, in its own unit; None where no time was measured."""

    kind: str
    count: Count
    unit: str
    before_per_s: float | None
    during_per_s: float | None
    command: str | None = None
    #: Why the load stopped or could not start, where it did.
    error: str | None = None
    #: Of a load that drives a device.
    device: LoadDevice | None = None


class Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing read of the board: its name, its value, where it was read, and its theme."""

    name: str
    value: FactValue
    source: str
    theme: str = "other"


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A counter of the board that moved during the run (after − before)."""

    name: str
    cpu: Cpu | None
    delta: float
    unit: str
    source: str


class ProbeReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What measuring itself cost, and what the line between probe and host did."""

    version: str
    arch: str
    sha256: str
    #: User + system time of the probe process, loads not included.
    cpu_time_ns: TimeNs | None
    peak_memory_bytes: Count | None
    #: Clock resolution (clock_getres) and the smallest step seen between two readings.
    clock_resolution_ns: TimeNs | None
    #: Median cost of one clock_gettime call.
    clock_read_ns: TimeNs | None
    frames: Count
    frames_damaged: Count
    frames_resent: Count
    frames_lost: Count


class SourceReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tracepoint that the recorder wanted. error: the errno for which it had to do without."""

    name: str
    error: Small


class BuildId(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of which build the kernel is (module None), or a module of which a function was named."""

    module: str | None
    #: Hexadecimal, as `file` and debug information servers write it.
    build_id: str


class SymbolsReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the functions in events came by their names, on the board."""

    #: Whether the kernel let the probe see where its functions are.
    shown: bool
    #: kernel.kptr_restrict as found; None where there is no such setting.
    kptr_restrict: Small | None
    #: It hid them from everybody, and the probe set it to 1 for as long as it read.
    lowered: bool
    #: How many addresses events had, and how many of them lie in a function.
    addresses: Count
    named: Count
    build_ids: list[BuildId]


#: Of how many gaps between arrivals the shortest time is kept. The last two are of 64 and 256 that
#: begin with each 16th arrival: with 15 more, any stretch holds one (probe/src/recorder/event.h).
SPAN_GAPS = (1, 4, 16, 64 + 15, 256 + 15)


#: Of up to how many executions in a row the longest total is kept.
TOTAL_ROWS = (4, 16)


class DetachedReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stretch of time in which the recorder was detached.

    Detaching began at begin_ns and was done at from_ns; attaching began at to_ns and was done at
    until_ns. Nothing is recorded of activations that were due before until_ns and ran after
    begin_ns. before, after: events since the start once it was detached, and before it was attached
    again; None where they were not counted.
    """

    begin_ns: TimeNs
    from_ns: TimeNs
    to_ns: TimeNs
    until_ns: TimeNs
    before: Count | None
    after: Count | None
    #: The errno for which a source was not attached again; 0.
    error: Small = 0

    def __post_init__(self) -> None:
        """Raise ValueError for times that are not in order."""
        if not self.begin_ns <= self.from_ns <= self.to_ns <= self.until_ns:
            raise ValueError("a recorder that was detached and attached in no possible order")
        if (self.before or 0) > (self.after or 0):
            raise ValueError("events that were recorded and are not there")


class HookReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function of others that the kernel calls on a thread's way to the CPU.

    at: the tracepoint, or the kernel's function that calls notifiers; name: of the function with
    its module, "" for whatever notifier is there. timed: each run of more than 2 µs was recorded.
    """

    at: str
    name: str
    timed: bool


class MaximumReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What comes again, of all of a run and not of its windows alone.

    cause: "interrupt" or "softirq"; name: as events have it. arrivals: on the CPUs of measured
    threads. longest_ns: its longest execution, without what interrupted it, which began at
    longest_at_ns on `cpu`. spans_ns: no SPAN_GAPS[i] gaps between arrivals took less, where so many
    came. totals_ns: no TOTAL_ROWS[i] executions in a row took longer together; empty: not known.
    """

    cause: str
    name: str
    cpu: Cpu
    arrivals: Count
    longest_ns: TimeNs
    longest_at_ns: TimeNs
    spans_ns: list[TimeNs]
    totals_ns: list[TimeNs] = []

    def __post_init__(self) -> None:
        """Raise ValueError for spans that no arrivals have, and for totals of no executions."""
        if len(self.totals_ns) > len(TOTAL_ROWS) or sorted(self.totals_ns) != self.totals_ns:
            raise ValueError("totals of executions that are in no order")
        if len(self.spans_ns) > len(SPAN_GAPS) or sorted(self.spans_ns) != self.spans_ns:
            raise ValueError("times between arrivals that are in no order")


class RecorderReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the flight recorder did, and what it cost."""

    #: None where none could be started; `refused` has the reason.
    engine: str | None
    refused: str | None
    ring_events: Count
    sources: list[SourceReport]
    windows: Count
    #: Late activations without a window: the copying of windows was rate limited.
    rate_limited: Count
    events: Count
    missed: Count
    #: Runs of its programs, or events; and the time that all of them took where the kernel
    #: measured that (it does only on request, and then they take longer); None: not known.
    runs: Count | None
    run_ns: TimeNs | None
    #: Runs, or events, that were measured before the first activation, and the time they took:
    #: what one takes there times `runs` is about what recording took. None: not known.
    sampled_runs: Count | None = None
    sampled_ns: TimeNs | None = None
    #: CPU time of the SCHED_OTHER thread that checks activations and copies windows; part of the
    #: probe's own (`cpu_time_ns`).
    gather_ns: TimeNs | None = None
    #: Why a better engine was not used.
    declined: str | None = None
    #: None in older recordings.
    symbols: SymbolsReport | None = None
    #: In order; empty where it stayed attached throughout.
    detached: list[DetachedReport] = []
    #: Functions that others had at tracepoints and as notifiers. At tracepoints they ran before the
    #: recorder's, within what looks like the time of the thread that had the CPU.
    hooks: list[HookReport] = []
    #: Whether the kernel showed what is at its tracepoints; None: there was no BPF to look.
    shows_hooks: bool | None = None
    #: Of all interrupts and softirqs; None where the engine keeps none, and in older recordings.
    maxima: list[MaximumReport] | None = None

    def hides(self, due_ns: int, run_ns: int) -> bool:
        """Whether nothing was recorded of an activation by design: it was detached meanwhile."""
        return any(
            due_ns < stretch.until_ns and run_ns > stretch.begin_ns for stretch in self.detached
        )


#: The code of the problem of a thread that was let go after its first deadline.
LATE_START = "late-start"


class Problem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that the run or its recovery noticed.

    `fatal` problems make the run's trust "no verdict"; the others are warnings.
    `code` is a short stable word ("dropped", "no-realtime", "idle-load", "recovered", ...).
    """

    code: str
    text: str
    fatal: bool


class CpuHitCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hits on a CPU."""

    cpu: Cpu
    count: Count


class HitReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often a function or a tracepoint was hit in a run; of a line of the facts 1 or 0.

    count: None where it is not known, and `why` has the reason. 0 with a reason: the kernel has no
    such function or tracepoint. cpus: the count of each measured CPU. how: by what it was counted,
    or where the fact was read.
    """

    name: str
    count: Count | None
    cpus: list[CpuHitCount] = []
    how: str = ""
    why: str = ""


class CrashReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A crash or warning on the console of the board (recording/console/crashes.py)."""

    kind: str
    headline: str
    #: Innermost first, as the kernel printed it.
    backtrace: list[str]
    #: The line of console.log, from 1.
    line: Count
    fatal: bool


class ThreadName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name that a thread of a watched program had last."""

    pid: Count
    name: str


class TaskName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A thread that was seen with this name: of which process, and when it began.

    start: in clock ticks since boot. Two entries of one pid are one thread's, which renamed itself,
    if their starts are the same; else the pid was used again.
    """

    pid: Count
    name: str
    process: Count
    start: Count


class AppEnd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a program that was started ended by itself: its exit status, or the signal, else 0."""

    status: Small
    signal: Small


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """manifest.json."""

    format: Literal["whylate-recording"]
    schema_version: Small
    state: State
    created: str
    whylate: str
    board: str
    clock: str
    plan: RunPlan
    cpus: list[CpuAccount]
    loads: list[LoadReport]
    facts: list[Fact]
    changes: list[Change]
    probe: ProbeReport
    problems: list[Problem]
    #: SHA-256 of all samples (workloads/activations/assembler.py); None in recordings of schema 1.
    samples_sha256: str | None = None
    crashes: list[CrashReport] = []
    #: None where no recorder was asked for.
    recorder: RecorderReport | None = None
    #: Of the app workload: the names of threads, as far as windows tell of them.
    threads: list[ThreadName] = []
    #: Of threads in windows: which had which names, as far as they were still there.
    tasks: list[TaskName] = []
    #: Of the app workload: what its threads waited for before they were woken, in groups.
    waits: list[WaitReport] = []
    #: None where the program was not started, or did not end before the run did.
    app_end: AppEnd | None = None
    #: Of a benchmark: what is known of each turn beside its repetitions (repetitions.parquet).
    turns: list[TurnReport] = []
    #: Of the wakeup workload with counters.
    events: list[CpuEvents] = []
    #: Of each hit of the plan.
    hits: list[HitReport] = []
    #: Of the section workload.
    section: SectionReport | None = None

    @property
    def has_all_rows(self) -> bool:
        """Whether all that was seen has a row: of a section only some executions may have one."""
        activations = self.plan.activations
        has_arms = activations is not None and activations.experiment is not None
        return self.one_in == 1 and not has_arms

    @property
    def start_ns(self) -> int:
        """When the first CPU was watched, on the board's clock; 0 if none was."""
        return min((account.start_ns for account in self.cpus), default=0)

    @property
    def late_start(self) -> str:
        """Why the run has no beginning that can be trusted, so that it is made again; else ""."""
        late = (problem.text for problem in self.problems if problem.code == LATE_START)
        return next(late, "")

    @property
    def one_in(self) -> int:
        """Of how many that were seen one has a row, in the mean."""
        return self.section.one_in if self.section is not None else 1

    def __post_init__(self) -> None:
        """Raise ValueError for a manifest that contradicts itself."""
        turns = len(self.plan.benchmark.order) if self.plan.benchmark is not None else 0
        if any(report.turn >= turns for report in self.turns):
            raise ValueError("a report of a turn that was not planned")
        if len({account.cpu for account in self.cpus}) < len(self.cpus):
            raise ValueError("two accounts of one CPU")
        if any(account.end_ns < account.start_ns for account in self.cpus):
            raise ValueError("a CPU whose measurement ends before it begins")


def newer_schema(directory: Path, version: int) -> str:
    """Return the message about a recording made by a later whylate."""
    return (
        f"{directory} was recorded by a newer whylate (schema {version}, this one knows "
        f"{SCHEMA_VERSION}): open it with that version, or a later one"
    )
