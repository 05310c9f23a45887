"""The messages of the wire.

Written by tools/wiregen.py from schema/wire.toml. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass

from whylate.wire.codec import I32, U8, U16, U32, U64, Blob, ListText, ListU16, ListU64, Text
from whylate.wire.codec import Message as Message  # noqa: PLC0414

PROTOCOL = 1
MAX_PAYLOAD = 4096
FRAGMENT_SIZE = 40
FIRST_CONTROL = 240


@dataclass(frozen=True, slots=True)
class Hello(Message, kind=1):
    """The host's first word; the probe answers with welcome."""

    version: Text


@dataclass(frozen=True, slots=True)
class Read(
    Message,
    kind=2,
    ranges={"method": (0, 3), "limit": (0, 1_048_576), "offset": (0, 9_223_372_036_854_775_807)},
):
    """Read what matches a glob pattern: answered by file messages, then done."""

    method: U8
    limit: U32
    offset: U64
    pattern: Text


@dataclass(frozen=True, slots=True)
class LoadStart(Message, kind=3, ranges={"load": (0, 63), "count": (1, 256)}):
    """Start `count` instances of a load. argv: for cmd, nic and block alone."""

    load: U16
    count: U16
    kind: Text
    argv: ListText


@dataclass(frozen=True, slots=True)
class Setting(Message, kind=4):
    """Write a value to a file under /proc/sys or /sys until the session ends."""

    path: Text
    value: Text


@dataclass(frozen=True, slots=True)
class Wakeup(
    Message,
    kind=5,
    ranges={
        "interval_ns": (50_000, 10_000_000_000),
        "duration_ns": (50_000, 2_592_000_000_000_000),
        "priority": (1, 99),
        "hold_idle": (0, 1),
        "spool": (0, 1),
        "cpus": (0, 8_191),
    },
):
    """Start the wakeup workload: answered by cpu_started for each CPU, then done."""

    interval_ns: U64
    duration_ns: U64
    priority: U8
    hold_idle: U8
    spool: U8
    cpus: ListU16


@dataclass(frozen=True, slots=True)
class Stop(Message, kind=6):
    """End the workload now; what was measured is shipped as at a planned end."""


@dataclass(frozen=True, slots=True)
class Frequency(Message, kind=7, ranges={"cpus": (0, 8_191)}):
    """Measure these CPUs: answered by cpu_frequency and cpu_counts for each, then done."""

    cpus: ListU16


@dataclass(frozen=True, slots=True)
class Finish(Message, kind=8):
    """Stop loads and put back settings; answered by done."""


@dataclass(frozen=True, slots=True)
class Keepalive(Message, kind=9, ranges={"timeout_ms": (0, 3_600_000)}):
    """The host is there. After `timeout_ms` without a word from it the probe ends; 0: never."""

    timeout_ms: U32


@dataclass(frozen=True, slots=True)
class Pause(Message, kind=10, ranges={"duration_ms": (0, 60_000)}):
    """Answered by done after that time; the next command of a plan waits for it."""

    duration_ms: U32


@dataclass(frozen=True, slots=True)
class Phase(Message, kind=11, ranges={"phase_ns": (0, 10_000_000_000)}):
    """The next wakeup workload begins so much later than it else would."""

    phase_ns: U64


@dataclass(frozen=True, slots=True)
class Recorder(
    Message,
    kind=12,
    ranges={
        "engine": (0, 2),
        "threshold_ns": (0, 2_592_000_000_000_000),
        "tail_ppm": (0, 500_000),
        "ring_bytes": (0, 1_073_741_824),
        "stop_above_ns": (0, 2_592_000_000_000_000),
    },
):
    """Record events during the next wakeup workload, which sends recorder_started or a note."""

    engine: U8
    threshold_ns: U64
    tail_ppm: U32
    control_every: U32
    ring_bytes: U64
    stop_above_ns: U64


@dataclass(frozen=True, slots=True)
class App(
    Message,
    kind=13,
    ranges={"duration_ns": (1, 2_592_000_000_000_000), "spool": (0, 1), "pid": (0, 2_147_483_647)},
):
    """Watch the wakeups of a program's threads, which the recorder that was asked for records."""

    duration_ns: U64
    spool: U8
    pid: U32
    comm: Text
    argv: ListText


@dataclass(frozen=True, slots=True)
class Section(
    Message,
    kind=22,
    ranges={
        "duration_ns": (1, 2_592_000_000_000_000),
        "spool": (0, 1),
        "kind": (0, 2),
        "hook": (0, 8),
        "key": (0, 2),
        "pid": (0, 2_147_483_647),
        "one_in": (0, 16_777_216),
        "above_ns": (0, 4_611_686_018_427_387_903),
        "locks": (0, 7),
        "treatment": (0, 5),
    },
):
    """Time each execution of a section of code."""

    duration_ns: U64
    spool: U8
    kind: U8
    begin: Text
    end: Text
    hook: U8
    key: U8
    begin_argument: Text
    end_argument: Text
    arguments: ListText
    values: ListU64
    pid: U32
    comm: Text
    one_in: U32
    above_ns: U64
    locks: U8
    file: Text
    treatment: U8


@dataclass(frozen=True, slots=True)
class ListPlaces(Message, kind=23, ranges={"kind": (0, 2), "pid": (0, 2_147_483_647)}):
    """List names that match a pattern, of what a section can begin at."""

    kind: U8
    pattern: Text
    file: Text
    pid: U32


@dataclass(frozen=True, slots=True)
class Counters(Message, kind=14, ranges={"types": (0, 9_223_372_036_854_775_807)}):
    """Count these events in each repetition, or of each wakeup thread; none: no more."""

    types: ListU64
    configs: ListU64
    modes: ListU16


@dataclass(frozen=True, slots=True)
class BenchSwitch(
    Message,
    kind=15,
    ranges={
        "turn": (0, 200_000),
        "tasks": (1, 4_096),
        "channel": (0, 3),
        "threads": (0, 1),
        "set_bytes": (0, 1_099_511_627_776),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "priority": (0, 99),
        "cpus": (0, 8_191),
    },
):
    """Pass a token round a ring of tasks: answered by switch_row messages, then done."""

    turn: U32
    tasks: U16
    channel: U8
    threads: U8
    set_bytes: U64
    block_ns: U64
    repetitions: U16
    priority: U8
    cpus: ListU16


@dataclass(frozen=True, slots=True)
class BenchMemory(
    Message,
    kind=16,
    ranges={
        "turn": (0, 200_000),
        "operation": (0, 3),
        "source": (0, 2),
        "pages": (0, 3),
        "routine": (0, 1),
        "size": (4_096, 70_368_744_177_664),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
    },
):
    """Copy, set or read memory: answered by memory_row and memory_backing messages, then done."""

    turn: U32
    operation: U8
    source: U8
    pages: U8
    routine: U8
    size: U64
    block_ns: U64
    repetitions: U16
    cpu: U16


@dataclass(frozen=True, slots=True)
class BenchClock(
    Message,
    kind=17,
    ranges={
        "turn": (0, 200_000),
        "method": (0, 3),
        "threads": (1, 1_024),
        "service_ns": (0, 60_000_000_000),
        "think_ns": (0, 60_000_000_000),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "cpus": (0, 8_191),
    },
):
    """Read a clock in threads: answered by clock_nature and clock_row messages, then done."""

    turn: U32
    clock: I32
    method: U8
    threads: U16
    service_ns: U64
    think_ns: U64
    block_ns: U64
    repetitions: U16
    cpus: ListU16


@dataclass(frozen=True, slots=True)
class BenchSharedClock(
    Message,
    kind=25,
    ranges={
        "turn": (0, 200_000),
        "method": (2, 3),
        "form": (0, 3),
        "threads": (1, 1_024),
        "service_ns": (0, 60_000_000_000),
        "think_ns": (0, 60_000_000_000),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "cpus": (0, 8_191),
    },
):
    """As bench_clock, in a form of shared_read.h: a clock_sharing message comes too."""

    turn: U32
    method: U8
    form: U8
    threads: U16
    service_ns: U64
    think_ns: U64
    block_ns: U64
    repetitions: U16
    cpus: ListU16


@dataclass(frozen=True, slots=True)
class BenchBulk(
    Message,
    kind=26,
    ranges={
        "turn": (0, 200_000),
        "lines": (1, 1_048_576),
        "chunk": (0, 1_048_576),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
    },
):
    """Clean lines of the cache in chunks under a lock: bulk_repetition, bulk_tuning, then done."""

    turn: U32
    lines: U32
    chunk: U32
    block_ns: U64
    repetitions: U16
    cpu: U16


@dataclass(frozen=True, slots=True)
class BenchTracedSwitch(
    Message,
    kind=34,
    ranges={
        "turn": (0, 200_000),
        "tasks": (1, 4_096),
        "channel": (0, 3),
        "threads": (0, 1),
        "set_bytes": (0, 1_099_511_627_776),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "priority": (0, 99),
        "cpus": (0, 8_191),
        "trace_bytes": (1, 1_048_576),
    },
):
    """As bench_switch; at the end of a turn its switches are traced: switch_trace comes too."""

    turn: U32
    tasks: U16
    channel: U8
    threads: U8
    set_bytes: U64
    block_ns: U64
    repetitions: U16
    priority: U8
    cpus: ListU16
    trace_bytes: U32


@dataclass(frozen=True, slots=True)
class BenchFlush(
    Message,
    kind=32,
    ranges={
        "turn": (0, 200_000),
        "operation": (0, 1),
        "pages": (1, 4_096),
        "set_bytes": (0, 1_073_741_824),
        "every_ns": (0, 60_000_000_000),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "caller": (0, 8_191),
        "victim": (0, 8_191),
    },
):
    """Flush translations beside a victim: flush_repetition, flush_counting, then done."""

    turn: U32
    operation: U8
    pages: U16
    set_bytes: U64
    every_ns: U64
    block_ns: U64
    repetitions: U16
    caller: U16
    victim: U16


@dataclass(frozen=True, slots=True)
class BenchSwitchFlush(
    Message,
    kind=35,
    ranges={
        "turn": (0, 200_000),
        "tasks": (2, 4_096),
        "set_bytes": (0, 1_073_741_824),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "caller": (0, 8_191),
        "victim": (0, 8_191),
    },
):
    """As bench_flush, where address spaces are switched: a victim_flushes message comes too."""

    turn: U32
    tasks: U16
    set_bytes: U64
    block_ns: U64
    repetitions: U16
    caller: U16
    victim: U16


@dataclass(frozen=True, slots=True)
class BenchOffset(
    Message,
    kind=33,
    ranges={
        "turn": (0, 200_000),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "first": (0, 8_191),
        "second": (0, 8_191),
        "shift_ns": (-1_000_000_000, 1_000_000_000),
        "drift_ppb": (-1_000_000, 1_000_000),
    },
):
    """Exchange readings of a clock between two CPUs: offset_repetition, then done."""

    turn: U32
    clock: U8
    block_ns: U64
    repetitions: U16
    first: U16
    second: U16
    shift_ns: I32
    drift_ppb: I32


@dataclass(frozen=True, slots=True)
class BenchCommand(Message, kind=18, ranges={"turn": (0, 200_000)}):
    """Run a command once: answered by command_output messages and a command_row, then done."""

    turn: U32
    argv: ListText


@dataclass(frozen=True, slots=True)
class BenchOff(
    Message,
    kind=24,
    ranges={
        "turn": (0, 200_000),
        "what": (0, 1),
        "method": (0, 2),
        "period_ns": (10_000, 10_000_000),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "cpus": (0, 8_191),
    },
):
    """Look for how long interrupts or preemption are disabled: answered by off_method and more."""

    turn: U32
    what: U8
    method: U8
    period_ns: U64
    block_ns: U64
    repetitions: U16
    cpus: ListU16


@dataclass(frozen=True, slots=True)
class Accounting(Message, kind=19):
    """End of the benchmarks: answered by result, then done."""


@dataclass(frozen=True, slots=True)
class Run(Message, kind=20):
    """Run a command: answered by run_output messages and run_ended, then done."""

    timeout_ms: U32
    output_limit: U32
    argv: ListText


@dataclass(frozen=True, slots=True)
class Hits(Message, kind=30):
    """Count on these CPUs how often functions and tracepoints are hit, in every process."""

    names: ListText
    cpus: ListU16


@dataclass(frozen=True, slots=True)
class HitsEnd(Message, kind=31):
    """Count hits no more: answered by cpu_hits for each CPU, then done."""


@dataclass(frozen=True, slots=True)
class Put(
    Message,
    kind=21,
    ranges={"mode": (0, 4_095), "size": (0, 1_073_741_824), "offset": (0, 1_073_741_824)},
):
    """Write a piece of a file, which replaces what is at its path once the last piece is there."""

    path: Text
    mode: U32
    size: U64
    offset: U64
    checksum: U64
    data: Blob


@dataclass(frozen=True, slots=True)
class Detach(Message, kind=40, ranges={"block_ns": (1, 2_592_000_000_000_000)}):
    """Detach the recorder during some blocks of the next wakeup workload."""

    block_ns: U64
    blocks: ListU16


@dataclass(frozen=True, slots=True)
class Welcome(
    Message,
    kind=64,
    ranges={
        "clock_resolution_ns": (0, 4_611_686_018_427_387_903),
        "clock_read_ns": (0, 4_611_686_018_427_387_903),
        "cpus": (0, 8_191),
    },
):
    """Who the probe is and what it may do."""

    version: Text
    arch: Text
    sysname: Text
    nodename: Text
    release: Text
    kernel_version: Text
    machine: Text
    uid: U32
    capabilities: U64
    rtprio_limit: U64
    memlock_limit: U64
    clock_resolution_ns: U64
    clock_read_ns: U64
    cpus: ListU16


@dataclass(frozen=True, slots=True)
class Done(Message, kind=65):
    """The command with that number was carried out."""

    command: U32


@dataclass(frozen=True, slots=True)
class Failed(Message, kind=66):
    """The command with that number was not carried out, and why."""

    command: U32
    error: I32
    text: Text


@dataclass(frozen=True, slots=True)
class File(Message, kind=67, ranges={"truncated": (0, 1), "more": (0, 1)}):
    """A piece of what a read found. error is an errno; more: another piece of this path follows."""

    command: U32
    error: I32
    truncated: U8
    more: U8
    path: Text
    data: Blob


@dataclass(frozen=True, slots=True)
class CpuStarted(
    Message,
    kind=68,
    ranges={
        "cpu": (0, 8_191),
        "priority": (0, 99),
        "locked": (0, 1),
        "start_ns": (0, 4_611_686_018_427_387_903),
        "end_ns": (0, 4_611_686_018_427_387_903),
        "interval_ns": (0, 10_000_000_000),
    },
):
    """A measuring thread is about to start: its first activation is due at start_ns."""

    cpu: U16
    policy: U8
    priority: U8
    locked: U8
    start_ns: U64
    end_ns: U64
    interval_ns: U64


@dataclass(frozen=True, slots=True)
class Samples(
    Message, kind=69, ranges={"cpu": (0, 8_191), "first": (0, 9_223_372_036_854_775_807)}
):
    """Consecutive activations of one CPU from `first` on; `data`: a block samples."""

    cpu: U16
    count: U16
    first: U64
    data: Blob


@dataclass(frozen=True, slots=True)
class Progress(
    Message,
    kind=70,
    ranges={"now_ns": (0, 4_611_686_018_427_387_903), "next": (0, 9_223_372_036_854_775_807)},
):
    """At now_ns all activations of the k-th CPU below next[k] had been taken from its thread."""

    now_ns: U64
    next: ListU64


@dataclass(frozen=True, slots=True)
class LoadWork(
    Message,
    kind=71,
    ranges={
        "state": (0, 3),
        "now_ns": (0, 4_611_686_018_427_387_903),
        "work": (0, 9_223_372_036_854_775_807),
    },
):
    """Work that a load did up to now_ns, all its instances together."""

    load: U16
    state: U8
    now_ns: U64
    work: U64
    message: Text


@dataclass(frozen=True, slots=True)
class CpuResult(
    Message,
    kind=72,
    ranges={
        "cpu": (0, 8_191),
        "priority": (0, 99),
        "locked": (0, 1),
        "start_ns": (0, 4_611_686_018_427_387_903),
        "end_ns": (0, 4_611_686_018_427_387_903),
        "seen": (0, 9_223_372_036_854_775_807),
        "overrun": (0, 9_223_372_036_854_775_807),
        "dropped": (0, 9_223_372_036_854_775_807),
    },
):
    """The probe's own account of one CPU. dropped: found no room in the thread's buffer."""

    cpu: U16
    policy: U8
    priority: U8
    locked: U8
    start_ns: U64
    end_ns: U64
    seen: U64
    overrun: U64
    dropped: U64


@dataclass(frozen=True, slots=True)
class Result(
    Message,
    kind=73,
    ranges={
        "cpu_time_ns": (0, 4_611_686_018_427_387_903),
        "peak_memory": (0, 9_223_372_036_854_775_807),
    },
):
    """The workload has ended; all its samples were sent before. cpu_time_ns: of the probe alone."""

    cpu_time_ns: U64
    peak_memory: U64


@dataclass(frozen=True, slots=True)
class CpuFrequency(
    Message, kind=74, ranges={"cpu": (0, 8_191), "hz": (0, 9_223_372_036_854_775_807)}
):
    """The frequency of a CPU as measured with a chain of single-cycle instructions."""

    cpu: U16
    hz: U64


@dataclass(frozen=True, slots=True)
class Note(Message, kind=75):
    """Something that the probe noticed and the user should know."""

    code: Text
    text: Text


@dataclass(frozen=True, slots=True)
class LoadStarted(Message, kind=76):
    """A load was started; `unit` is what its work is counted in."""

    load: U16
    count: U16
    unit: Text


@dataclass(frozen=True, slots=True)
class LoadDevice(
    Message,
    kind=114,
    ranges={
        "now_ns": (0, 4_611_686_018_427_387_903),
        "interrupts": (0, 9_223_372_036_854_775_807),
        "softirqs": (0, 9_223_372_036_854_775_807),
        "in_count": (0, 9_223_372_036_854_775_807),
        "in_bytes": (0, 9_223_372_036_854_775_807),
        "out_count": (0, 9_223_372_036_854_775_807),
        "out_bytes": (0, 9_223_372_036_854_775_807),
        "received": (0, 9_223_372_036_854_775_807),
        "delivered": (0, 9_223_372_036_854_775_807),
    },
):
    """What the kernel counted of the device that a load drives, up to now_ns."""

    load: U16
    now_ns: U64
    device: Text
    lines: Text
    interrupts: U64
    softirqs: U64
    in_count: U64
    in_bytes: U64
    out_count: U64
    out_bytes: U64
    received: U64
    delivered: U64


@dataclass(frozen=True, slots=True)
class CpuCounts(
    Message,
    kind=77,
    ranges={
        "cpu": (0, 8_191),
        "cycles": (0, 9_223_372_036_854_775_807),
        "instructions": (0, 9_223_372_036_854_775_807),
    },
):
    """What a CPU's counters counted over a chain, in user mode alone where they can."""

    cpu: U16
    chain: U32
    cycles_error: I32
    cycles: U64
    instructions_error: I32
    instructions: U64


@dataclass(frozen=True, slots=True)
class RecorderStarted(Message, kind=78, ranges={"ring_events": (0, 9_223_372_036_854_775_807)}):
    """Events are recorded from now on, by that engine, in rings of so many for each CPU."""

    engine: Text
    ring_events: U64


@dataclass(frozen=True, slots=True)
class RecorderSource(Message, kind=79):
    """A tracepoint that the recorder wants. error: the errno for which it was not attached; 0."""

    name: Text
    error: I32


@dataclass(frozen=True, slots=True)
class Hook(Message, kind=125, ranges={"known": (0, 1), "timed": (0, 1)}):
    """A function of others: at a tracepoint, or a notifier; `at`: which, or what calls it."""

    known: U8
    timed: U8
    at: Text
    name: Text


@dataclass(frozen=True, slots=True)
class SampleStages(
    Message, kind=80, ranges={"cpu": (0, 8_191), "first": (0, 9_223_372_036_854_775_807)}
):
    """How the activations of a block of samples came about; `data`: a block stages."""

    cpu: U16
    count: U16
    first: U64
    data: Blob


@dataclass(frozen=True, slots=True)
class Window(
    Message,
    kind=81,
    ranges={
        "cpu": (0, 8_191),
        "reason": (0, 2),
        "activation": (0, 9_223_372_036_854_775_807),
        "due_ns": (0, 4_611_686_018_427_387_903),
        "run_ns": (0, 4_611_686_018_427_387_903),
        "timer_ns": (0, 4_611_686_018_427_387_903),
        "waking_ns": (0, 4_611_686_018_427_387_903),
        "switched_ns": (0, 4_611_686_018_427_387_903),
        "observed_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """What was recorded of one activation; its events come next. Times that were not seen are 0."""

    cpu: U16
    tid: U32
    prio: U8
    reason: U8
    activation: U64
    due_ns: U64
    run_ns: U64
    timer_ns: U64
    waking_ns: U64
    switched_ns: U64
    waking_cpu: U16
    observed_ns: U64
    events: U32
    sums: ListU64


@dataclass(frozen=True, slots=True)
class Events(Message, kind=82, ranges={"cpu": (0, 8_191)}):
    """Events of the preceding window, in order; `data`: see kinds of events."""

    cpu: U16
    count: U16
    data: Blob


@dataclass(frozen=True, slots=True)
class Name(Message, kind=83):
    """What an id means. table: enum name_table."""

    table: U8
    id: U64
    text: Text


@dataclass(frozen=True, slots=True)
class SampleThreads(
    Message, kind=85, ranges={"cpu": (0, 8_191), "first": (0, 9_223_372_036_854_775_807)}
):
    """Whose the activations of a block of samples are; `data`: a block threads."""

    cpu: U16
    count: U16
    first: U64
    data: Blob


@dataclass(frozen=True, slots=True)
class AppWait(
    Message,
    kind=112,
    ranges={
        "tid": (0, 4_194_304),
        "waker": (0, 4_194_304),
        "origin": (0, 4),
        "state": (0, 127),
        "futex": (0, 9_223_372_036_854_775_807),
        "count": (1, 1_000_000_000_000_000),
        "total_ns": (0, 4_611_686_018_427_387_903),
        "longest_ns": (0, 4_611_686_018_427_387_903),
        "bins": (1, 784),
    },
):
    """Waits of a watched program that are alike: off the CPU until due. `data`: a block waits."""

    tid: U32
    waker: U32
    origin: U8
    state: U8
    system_call: U16
    futex: U64
    count: U64
    total_ns: U64
    longest_ns: U64
    bins: U16
    data: Blob


@dataclass(frozen=True, slots=True)
class AppEnded(Message, kind=86):
    """The program that was started is over: what it exited with, or the signal that ended it."""

    status: U8
    signal: U8


@dataclass(frozen=True, slots=True)
class SectionStarted(
    Message,
    kind=126,
    ranges={
        "hook": (1, 8),
        "one_in": (1, 16_777_216),
        "parts": (0, 127),
        "tried_ns": (0, 4_611_686_018_427_387_903),
        "tried": (0, 9_223_372_036_854_775_807),
    },
):
    """How the executions of a section are timed from now on."""

    hook: U8
    one_in: U32
    parts: U8
    tried_ns: U64
    tried: U64


@dataclass(frozen=True, slots=True)
class SectionFloor(
    Message,
    kind=130,
    ranges={
        "after": (0, 1),
        "floor_ns": (0, 4_611_686_018_427_387_903),
        "with_ns": (0, 4_611_686_018_427_387_903),
        "without_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """How long an empty section takes by the same hook; `after`: the run, and not before it."""

    after: U8
    executions: U32
    floor_ns: U64
    with_ns: U64
    without_ns: U64
    error: I32
    text: Text


@dataclass(frozen=True, slots=True)
class SectionLock(
    Message,
    kind=131,
    ranges={
        "count": (0, 9_223_372_036_854_775_807),
        "total_ns": (0, 4_611_686_018_427_387_903),
        "longest_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """Waits for locks in a section that have the same callers, the innermost first."""

    lock: U64
    name: Text
    flags: U32
    count: U64
    total_ns: U64
    longest_ns: U64
    callers: ListText


@dataclass(frozen=True, slots=True)
class SectionPath(
    Message,
    kind=136,
    ranges={
        "sampled": (0, 1),
        "above_ns": (0, 4_611_686_018_427_387_903),
        "longer": (0, 9_223_372_036_854_775_807),
        "total_ns": (0, 4_611_686_018_427_387_903),
        "longest_ns": (0, 4_611_686_018_427_387_903),
        "control": (0, 9_223_372_036_854_775_807),
        "lost": (0, 9_223_372_036_854_775_807),
    },
):
    """Executions of a section that ended with the same callers, or were seen there."""

    sampled: U8
    above_ns: U64
    longer: U64
    total_ns: U64
    longest_ns: U64
    control: U64
    lost: U64
    callers: ListText


@dataclass(frozen=True, slots=True)
class Executions(
    Message, kind=127, ranges={"cpu": (0, 8_191), "first": (0, 9_223_372_036_854_775_807)}
):
    """Executions of a section that are kept; `data`: a block executions."""

    cpu: U16
    count: U16
    first: U64
    data: Blob


@dataclass(frozen=True, slots=True)
class ExecutionBins(Message, kind=128, ranges={"cpu": (0, 8_191), "bins": (1, 784)}):
    """All executions that ended on a CPU, by how long they took; `data`: a block waits."""

    cpu: U16
    bins: U16
    data: Blob


@dataclass(frozen=True, slots=True)
class SectionResult(
    Message,
    kind=129,
    ranges={
        "entries": (0, 9_223_372_036_854_775_807),
        "returned": (0, 9_223_372_036_854_775_807),
        "in_flight": (0, 9_223_372_036_854_775_807),
        "left": (0, 9_223_372_036_854_775_807),
        "too_deep": (0, 9_223_372_036_854_775_807),
        "no_room": (0, 9_223_372_036_854_775_807),
        "unmatched": (0, 9_223_372_036_854_775_807),
        "missed": (0, 9_223_372_036_854_775_807),
    },
):
    """The account of all executions: entries = returned + in_flight + left + too_deep + no_room."""

    entries: U64
    returned: U64
    in_flight: U64
    left: U64
    too_deep: U64
    no_room: U64
    unmatched: U64
    missed: U64


@dataclass(frozen=True, slots=True)
class SectionArm(
    Message,
    kind=150,
    ranges={
        "treated": (0, 1),
        "reads": (1, 131_072),
        "entries": (0, 9_223_372_036_854_775_807),
        "returned": (0, 9_223_372_036_854_775_807),
        "failed": (0, 9_223_372_036_854_775_807),
        "bins": (0, 784),
    },
):
    """An arm of an experiment; `data`: a block waits, how long reading took before each."""

    treated: U8
    reads: U32
    entries: U64
    returned: U64
    failed: U64
    bins: U16
    data: Blob


@dataclass(frozen=True, slots=True)
class ExecutionCounts(
    Message, kind=132, ranges={"cpu": (0, 8_191), "first": (0, 9_223_372_036_854_775_807)}
):
    """Counts of the executions of the last block of that CPU; `data`: a block execution_counts."""

    cpu: U16
    count: U16
    first: U64
    data: Blob


@dataclass(frozen=True, slots=True)
class FloorCounts(Message, kind=133, ranges={"values": (0, 9_223_372_036_854_775_807)}):
    """Counts of an empty section before the run: the medians of so many executions."""

    executions: U32
    values: ListU64


@dataclass(frozen=True, slots=True)
class ListedPlace(
    Message,
    kind=134,
    ranges={"kind": (0, 3), "obstacle": (0, 9), "offset": (0, 9_223_372_036_854_775_807)},
):
    """A name that matches."""

    kind: U8
    name: Text
    detail: Text
    hooks: U16
    obstacle: U8
    same: U32
    offset: U64
    arguments: ListText


@dataclass(frozen=True, slots=True)
class PlacesListed(
    Message,
    kind=135,
    ranges={
        "hooks": (0, 8),
        "floor_ns": (0, 4_611_686_018_427_387_903),
        "with_ns": (0, 4_611_686_018_427_387_903),
        "without_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """How many names matched, and which of their kind's hooks work on this board."""

    matched: U32
    lacks: U32
    hooks: ListU16
    texts: ListText
    floor_ns: ListU64
    with_ns: ListU64
    without_ns: ListU64


@dataclass(frozen=True, slots=True)
class RecorderResult(
    Message,
    kind=84,
    ranges={
        "windows": (0, 9_223_372_036_854_775_807),
        "rate_limited": (0, 9_223_372_036_854_775_807),
        "events": (0, 9_223_372_036_854_775_807),
        "missed": (0, 9_223_372_036_854_775_807),
        "runs": (0, 9_223_372_036_854_775_807),
        "run_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """What the recorder did, and what it cost. run_ns: 0 where the kernel does not report it."""

    windows: U64
    rate_limited: U64
    events: U64
    missed: U64
    runs: U64
    run_ns: U64


@dataclass(frozen=True, slots=True)
class Symbols(Message, kind=88):
    """How functions in events came by their names. shown: the kernel shows their addresses."""

    shown: U8
    kptr_restrict: I32
    lowered: U8
    addresses: U32
    named: U32


@dataclass(frozen=True, slots=True)
class BuildId(Message, kind=89):
    """Of which build the kernel is, or a module of which a function was named; module: its name."""

    module: Text
    id: Blob


@dataclass(frozen=True, slots=True)
class RecorderMaximum(
    Message,
    kind=147,
    ranges={
        "kind": (0, 3),
        "cpu": (0, 8_191),
        "arrivals": (0, 9_223_372_036_854_775_807),
        "longest_ns": (0, 4_611_686_018_427_387_903),
        "longest_at_ns": (0, 4_611_686_018_427_387_903),
        "totals_ns": (0, 4_611_686_018_427_387_903),
        "spans_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """The longest execution of an interrupt or softirq; comes before recorder_result."""

    kind: U8
    number: U32
    cpu: U16
    arrivals: U64
    longest_ns: U64
    longest_at_ns: U64
    totals_ns: ListU64
    spans_ns: ListU64
    name: Text


@dataclass(frozen=True, slots=True)
class RecorderCost(
    Message,
    kind=87,
    ranges={
        "sampled_runs": (0, 9_223_372_036_854_775_807),
        "sampled_ns": (0, 4_611_686_018_427_387_903),
        "gather_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """What recording cost as far as the board reports it; comes before recorder_result."""

    sampled_runs: U64
    sampled_ns: U64
    gather_ns: U64


@dataclass(frozen=True, slots=True)
class RecorderDetached(
    Message,
    kind=120,
    ranges={
        "begin_ns": (0, 4_611_686_018_427_387_903),
        "from_ns": (0, 4_611_686_018_427_387_903),
        "to_ns": (0, 4_611_686_018_427_387_903),
        "until_ns": (0, 4_611_686_018_427_387_903),
        "counted": (0, 1),
        "before": (0, 9_223_372_036_854_775_807),
        "after": (0, 9_223_372_036_854_775_807),
    },
):
    """A stretch of time in which the recorder was detached; comes before recorder_result."""

    begin_ns: U64
    from_ns: U64
    to_ns: U64
    until_ns: U64
    error: I32
    counted: U8
    before: U64
    after: U64


@dataclass(frozen=True, slots=True)
class Ack(Message, kind=240):
    """All frames below `next` have arrived."""

    next: U32


@dataclass(frozen=True, slots=True)
class Resend(Message, kind=241):
    """These frames are missing. For a single one, `have` is the bitmap of its fragments at hand."""

    first: U32
    count: U16
    have: Blob


@dataclass(frozen=True, slots=True)
class Fragment(Message, kind=242):
    """A piece of a frame that was asked for again: small frames survive a bad line."""

    number: U32
    kind: U8
    index: U16
    total: U16
    data: Blob


@dataclass(frozen=True, slots=True)
class Tail(Message, kind=243):
    """The last number sent, when nothing follows it by which its loss would be noticed."""

    last: U32


@dataclass(frozen=True, slots=True)
class Mark(Message, kind=244):
    """Answered by marked with the same token, after everything that was asked for before it."""

    token: U32


@dataclass(frozen=True, slots=True)
class Marked(Message, kind=245):
    """Everything that was asked for before that mark has been sent."""

    token: U32


@dataclass(frozen=True, slots=True)
class SwitchRepetition(
    Message,
    kind=90,
    ranges={
        "ring_ns": (0, 4_611_686_018_427_387_903),
        "own_ns": (0, 4_611_686_018_427_387_903),
        "hops": (0, 9_223_372_036_854_775_807),
        "switches": (0, 9_223_372_036_854_775_807),
    },
):
    """A block of a ring, and one of a task that passes the token to itself as often."""

    turn: U32
    repetition: U16
    ring_ns: U64
    own_ns: U64
    hops: U64
    switches: U64


@dataclass(frozen=True, slots=True)
class SwitchFlushes(
    Message,
    kind=91,
    ranges={
        "hops": (0, 9_223_372_036_854_775_807),
        "switches": (0, 9_223_372_036_854_775_807),
        "flushes": (0, 9_223_372_036_854_775_807),
    },
):
    """What was counted in a block of its own. error: the errno for which it was not; 0."""

    turn: U32
    hops: U64
    switches: U64
    flushes: U64
    error: I32


@dataclass(frozen=True, slots=True)
class MemoryRepetition(
    Message,
    kind=92,
    ranges={"ns": (0, 9_223_372_036_854_775_807), "passes": (0, 9_223_372_036_854_775_807)},
):
    """So many passes over the bytes of a turn; of latency, so many dependent reads."""

    turn: U32
    repetition: U16
    ns: U64
    passes: U64


@dataclass(frozen=True, slots=True)
class MemoryBacking(
    Message,
    kind=93,
    ranges={
        "after": (0, 1),
        "target": (0, 1),
        "pages": (0, 9_223_372_036_854_775_807),
        "present": (0, 9_223_372_036_854_775_807),
        "frames": (0, 9_223_372_036_854_775_807),
        "huge_bytes": (0, 9_223_372_036_854_775_807),
        "hugetlb_bytes": (0, 9_223_372_036_854_775_807),
    },
):
    """What stands behind a buffer of a turn, before its first repetition and after its last."""

    turn: U32
    after: U8
    target: U8
    pages: U64
    present: U64
    frames: U64
    huge_bytes: U64
    hugetlb_bytes: U64
    error: I32


@dataclass(frozen=True, slots=True)
class ClockProperties(
    Message,
    kind=94,
    ranges={"system_call": (0, 2), "resolution_ns": (0, 4_611_686_018_427_387_903)},
):
    """What reading a clock is. system_call: enum clock_calls."""

    turn: U32
    system_call: U8
    resolution_ns: U64


@dataclass(frozen=True, slots=True)
class ClockRepetition(
    Message,
    kind=95,
    ranges={
        "ns": (0, 9_223_372_036_854_775_807),
        "calls": (0, 9_223_372_036_854_775_807),
        "checks": (0, 9_223_372_036_854_775_807),
        "backward": (0, 9_223_372_036_854_775_807),
        "most_backward_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """What one thread did in a repetition: its calls, and then its comparisons with the others."""

    turn: U32
    repetition: U16
    thread: U16
    cpu: U16
    ns: U64
    calls: U64
    checks: U64
    backward: U64
    most_backward_ns: U64


@dataclass(frozen=True, slots=True)
class ClockSharing(
    Message,
    kind=103,
    ranges={
        "direct_ps": (0, 9_223_372_036_854_775_807),
        "strict_ps": (0, 9_223_372_036_854_775_807),
        "break_even_ps": (0, 9_223_372_036_854_775_807),
        "checks": (0, 9_223_372_036_854_775_807),
        "stale": (0, 9_223_372_036_854_775_807),
        "most_stale_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """What sharing reads of a clock costs, and how old the values of a turn were."""

    turn: U32
    direct_ps: U64
    strict_ps: U64
    break_even_ps: U64
    patience: U32
    checks: U64
    stale: U64
    most_stale_ns: U64


@dataclass(frozen=True, slots=True)
class BulkRepetition(
    Message,
    kind=104,
    ranges={
        "ns": (0, 9_223_372_036_854_775_807),
        "passes": (0, 9_223_372_036_854_775_807),
        "holds": (0, 9_223_372_036_854_775_807),
        "delays": (0, 9_223_372_036_854_775_807),
        "p50_ns": (0, 4_611_686_018_427_387_903),
        "p99_ns": (0, 4_611_686_018_427_387_903),
        "most_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """Sets of lines that were cleaned, and the delays of signals that came meanwhile."""

    turn: U32
    repetition: U16
    ns: U64
    passes: U64
    holds: U64
    delays: U64
    p50_ns: U64
    p99_ns: U64
    most_ns: U64


@dataclass(frozen=True, slots=True)
class BulkTuning(
    Message,
    kind=105,
    ranges={
        "floor_ns": (0, 4_611_686_018_427_387_903),
        "item_ps": (0, 9_223_372_036_854_775_807),
        "gap_ns": (0, 4_611_686_018_427_387_903),
        "choice": (0, 9_223_372_036_854_775_807),
        "chunk": (0, 9_223_372_036_854_775_807),
    },
):
    """What bulk_work.h makes of the costs, and the chunk that was cleaned in a turn."""

    turn: U32
    floor_ns: U64
    item_ps: U64
    gap_ns: U64
    choice: U64
    chunk: U64


@dataclass(frozen=True, slots=True)
class FlushRepetition(
    Message,
    kind=106,
    ranges={
        "shared_ns": (0, 4_611_686_018_427_387_903),
        "shared_units": (0, 9_223_372_036_854_775_807),
        "shared_calls": (0, 9_223_372_036_854_775_807),
        "shared_flushes": (0, 9_223_372_036_854_775_807),
        "other_ns": (0, 4_611_686_018_427_387_903),
        "other_units": (0, 9_223_372_036_854_775_807),
        "other_calls": (0, 9_223_372_036_854_775_807),
        "other_flushes": (0, 9_223_372_036_854_775_807),
        "idle_ns": (0, 4_611_686_018_427_387_903),
        "idle_units": (0, 9_223_372_036_854_775_807),
    },
):
    """What a victim did in a block of each kind, while another CPU flushed."""

    turn: U32
    repetition: U16
    shared_ns: U64
    shared_units: U64
    shared_calls: U64
    shared_flushes: U64
    other_ns: U64
    other_units: U64
    other_calls: U64
    other_flushes: U64
    idle_ns: U64
    idle_units: U64


@dataclass(frozen=True, slots=True)
class FlushCounting(Message, kind=107):
    """Whether flushes were counted. error: the errno for which they were not; 0."""

    turn: U32
    error: I32


@dataclass(frozen=True, slots=True)
class VictimFlushes(
    Message,
    kind=115,
    ranges={"shared": (0, 9_223_372_036_854_775_807), "other": (0, 9_223_372_036_854_775_807)},
):
    """Flushes for which the victim of switches was interrupted in the blocks of a turn."""

    turn: U32
    shared: U64
    other: U64
    error: I32


@dataclass(frozen=True, slots=True)
class OffsetRepetition(
    Message,
    kind=108,
    ranges={
        "exchanges": (0, 9_223_372_036_854_775_807),
        "begin_ns": (0, 4_611_686_018_427_387_903),
        "peer_ns": (0, 4_611_686_018_427_387_903),
        "end_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """Of the exchanges of a block the quickest: the first CPU's clock before and after it."""

    turn: U32
    repetition: U16
    exchanges: U64
    begin_ns: U64
    peer_ns: U64
    end_ns: U64


@dataclass(frozen=True, slots=True)
class FlushReasons(Message, kind=109, ranges={"flushes": (0, 9_223_372_036_854_775_807)}):
    """Flushes in the block of switch_flushes by reason. error: an errno for which they were not."""

    turn: U32
    flushes: ListU64
    error: I32


@dataclass(frozen=True, slots=True)
class SwitchTrace(Message, kind=113):
    """A piece of the trace of a turn's switches, in order: lines of ftrace's text."""

    turn: U32
    error: I32
    data: Blob


@dataclass(frozen=True, slots=True)
class CommandRepetition(
    Message,
    kind=96,
    ranges={
        "wall_ns": (0, 4_611_686_018_427_387_903),
        "user_ns": (0, 4_611_686_018_427_387_903),
        "system_ns": (0, 4_611_686_018_427_387_903),
        "peak_memory": (0, 9_223_372_036_854_775_807),
    },
):
    """How a command went. status: its exit status; signal: the one that ended it, or 0."""

    turn: U32
    wall_ns: U64
    user_ns: U64
    system_ns: U64
    peak_memory: U64
    status: U8
    signal: U8


@dataclass(frozen=True, slots=True)
class CommandOutput(Message, kind=97):
    """A piece of what a command wrote, in order. cut: what came before it was too much to keep."""

    turn: U32
    cut: U8
    data: Blob


@dataclass(frozen=True, slots=True)
class OffMethod(Message, kind=145, ranges={"method": (1, 2)}):
    """How it is known what is disabled, and why in no better way; comes first."""

    turn: U32
    method: U8
    why: Text


@dataclass(frozen=True, slots=True)
class OffCpu(
    Message,
    kind=140,
    ranges={
        "cpu": (0, 8_191),
        "samples": (0, 9_223_372_036_854_775_807),
        "work": (0, 9_223_372_036_854_775_807),
        "unpaired": (0, 9_223_372_036_854_775_807),
        "lost": (0, 9_223_372_036_854_775_807),
        "usual_ns": (0, 4_611_686_018_427_387_903),
        "limit_ns": (0, 4_611_686_018_427_387_903),
        "without_ns": (0, 4_611_686_018_427_387_903),
        "with_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """How a CPU was sampled, or traced, over the whole turn."""

    turn: U32
    place: U16
    cpu: U16
    samples: U64
    work: U64
    unpaired: U64
    lost: U64
    usual_ns: U64
    limit_ns: U64
    without_ns: U64
    with_ns: U64


@dataclass(frozen=True, slots=True)
class OffRepetition(
    Message,
    kind=141,
    ranges={
        "cpu": (0, 8_191),
        "ns": (0, 9_223_372_036_854_775_807),
        "points": (0, 9_223_372_036_854_775_807),
        "disabled": (0, 9_223_372_036_854_775_807),
        "handler": (0, 9_223_372_036_854_775_807),
        "user": (0, 9_223_372_036_854_775_807),
        "unknown": (0, 9_223_372_036_854_775_807),
    },
):
    """What the points of the sampling grid showed in a block of time of a CPU."""

    turn: U32
    repetition: U16
    place: U16
    cpu: U16
    ns: U64
    points: U64
    disabled: U64
    handler: U64
    user: U64
    unknown: U64


@dataclass(frozen=True, slots=True)
class OffGroup(
    Message,
    kind=142,
    ranges={
        "group": (0, 1_024),
        "why": (0, 3),
        "stretches": (0, 9_223_372_036_854_775_807),
        "lasting": (0, 9_223_372_036_854_775_807),
        "points": (0, 9_223_372_036_854_775_807),
        "seen_ns": (0, 4_611_686_018_427_387_903),
        "longest_ns": (0, 4_611_686_018_427_387_903),
    },
):
    """Stretches that ended, and began, with the same callers, the innermost first."""

    turn: U32
    group: U16
    why: U8
    stretches: U64
    lasting: U64
    points: U64
    seen_ns: U64
    longest_ns: U64
    callers: ListText
    began: ListText


@dataclass(frozen=True, slots=True)
class OffBins(Message, kind=146, ranges={"cpu": (0, 8_191), "bins": (1, 784)}):
    """All stretches of a CPU, by tracepoints, by how long they took; `data`: a block waits."""

    turn: U32
    cpu: U16
    bins: U16
    data: Blob


@dataclass(frozen=True, slots=True)
class OffLongest(
    Message,
    kind=143,
    ranges={
        "at_ns": (0, 4_611_686_018_427_387_903),
        "cpu": (0, 8_191),
        "seen_ns": (0, 4_611_686_018_427_387_903),
        "points": (0, 9_223_372_036_854_775_807),
        "group": (0, 1_024),
        "counted_ns": (0, 4_611_686_018_427_387_903),
        "counts": (0, 9_223_372_036_854_775_807),
    },
):
    """One of the longest stretches with interrupts or preemption disabled."""

    turn: U32
    at_ns: U64
    cpu: U16
    pid: U32
    comm: Text
    seen_ns: U64
    points: U64
    group: U16
    counted_ns: U64
    counts: ListU64


@dataclass(frozen=True, slots=True)
class OffStretches(Message, kind=144, ranges={"first": (0, 9_223_372_036_854_775_807)}):
    """Stretches of all CPUs; `data`: a block off_stretches."""

    turn: U32
    count: U16
    first: U64
    data: Blob


@dataclass(frozen=True, slots=True)
class RepetitionCounts(Message, kind=98, ranges={"values": (0, 9_223_372_036_854_775_807)}):
    """What the counters counted in a repetition, in the order of the command counters."""

    turn: U32
    repetition: U16
    values: ListU64


@dataclass(frozen=True, slots=True)
class BenchFailed(Message, kind=99):
    """A turn could not be made, or not to its end. error: an errno; its command fails too."""

    turn: U32
    error: I32
    text: Text


@dataclass(frozen=True, slots=True)
class CpuEvents(
    Message, kind=100, ranges={"cpu": (0, 8_191), "values": (0, 9_223_372_036_854_775_807)}
):
    """What was counted of a CPU's measuring thread, in the order of the command counters."""

    cpu: U16
    values: ListU64


@dataclass(frozen=True, slots=True)
class RunOutput(Message, kind=101, ranges={"stream": (1, 2)}):
    """A piece of what a command that was run wrote. stream: enum output_stream."""

    stream: U8
    data: Blob


@dataclass(frozen=True, slots=True)
class RunEnded(
    Message,
    kind=102,
    ranges={
        "timed_out": (0, 1),
        "wall_ns": (0, 4_611_686_018_427_387_903),
        "omitted": (0, 9_223_372_036_854_775_807),
    },
):
    """How a command that was run ended: its exit status, or the signal that ended it."""

    status: U8
    signal: U8
    timed_out: U8
    wall_ns: U64
    omitted: U64


@dataclass(frozen=True, slots=True)
class HitSource(Message, kind=110):
    """Whether a name of the command hits is counted. error: an errno for which it is not; 0."""

    place: U16
    error: I32
    text: Text


@dataclass(frozen=True, slots=True)
class CpuHits(Message, kind=111, ranges={"values": (0, 9_223_372_036_854_775_807)}):
    """Hits on a CPU, in the order of the names; 0 for those that are not counted."""

    cpu: U16
    values: ListU64


MESSAGES: dict[int, type[Message]] = {
    m.KIND: m
    for m in (
        Hello,
        Read,
        LoadStart,
        Setting,
        Wakeup,
        Stop,
        Frequency,
        Finish,
        Keepalive,
        Pause,
        Phase,
        Recorder,
        App,
        Section,
        ListPlaces,
        Counters,
        BenchSwitch,
        BenchMemory,
        BenchClock,
        BenchSharedClock,
        BenchBulk,
        BenchTracedSwitch,
        BenchFlush,
        BenchSwitchFlush,
        BenchOffset,
        BenchCommand,
        BenchOff,
        Accounting,
        Run,
        Hits,
        HitsEnd,
        Put,
        Detach,
        Welcome,
        Done,
        Failed,
        File,
        CpuStarted,
        Samples,
        Progress,
        LoadWork,
        CpuResult,
        Result,
        CpuFrequency,
        Note,
        LoadStarted,
        LoadDevice,
        CpuCounts,
        RecorderStarted,
        RecorderSource,
        Hook,
        SampleStages,
        Window,
        Events,
        Name,
        SampleThreads,
        AppWait,
        AppEnded,
        SectionStarted,
        SectionFloor,
        SectionLock,
        SectionPath,
        Executions,
        ExecutionBins,
        SectionResult,
        SectionArm,
        ExecutionCounts,
        FloorCounts,
        ListedPlace,
        PlacesListed,
        RecorderResult,
        Symbols,
        BuildId,
        RecorderMaximum,
        RecorderCost,
        RecorderDetached,
        Ack,
        Resend,
        Fragment,
        Tail,
        Mark,
        Marked,
        SwitchRepetition,
        SwitchFlushes,
        MemoryRepetition,
        MemoryBacking,
        ClockProperties,
        ClockRepetition,
        ClockSharing,
        BulkRepetition,
        BulkTuning,
        FlushRepetition,
        FlushCounting,
        VictimFlushes,
        OffsetRepetition,
        FlushReasons,
        SwitchTrace,
        CommandRepetition,
        CommandOutput,
        OffMethod,
        OffCpu,
        OffRepetition,
        OffGroup,
        OffBins,
        OffLongest,
        OffStretches,
        RepetitionCounts,
        BenchFailed,
        CpuEvents,
        RunOutput,
        RunEnded,
        HitSource,
        CpuHits,
    )
}
