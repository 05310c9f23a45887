"""The messages of the wire.

Written by tools/wiregen.py from schema/wire.toml. Do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from whylate.wire.codec import (
    I32,
    U8,
    U16,
    U32,
    U64,
    Blob,
    ListText,
    ListU16,
    ListU64,
    Ranges,
    Text,
)
from whylate.wire.codec import Message as Message  # noqa: PLC0414

PROTOCOL = 1
MAX_PAYLOAD = 4096
FRAGMENT_SIZE = 40
FIRST_CONTROL = 240


class Hello(Message, frozen=True):
    """The host's first word; the probe answers with welcome."""

    KIND: ClassVar[int] = 1
    version: Text


class Read(Message, frozen=True):
    """Read what matches a glob pattern: answered by file messages, then done."""

    KIND: ClassVar[int] = 2
    RANGES: ClassVar[Ranges] = {
        "method": (0, 3),
        "limit": (0, 1_048_576),
        "offset": (0, 9_223_372_036_854_775_807),
    }
    method: U8
    limit: U32
    offset: U64
    pattern: Text


class LoadStart(Message, frozen=True):
    """Start `count` instances of a load. argv: for cmd, nic and block alone."""

    KIND: ClassVar[int] = 3
    RANGES: ClassVar[Ranges] = {"load": (0, 63), "count": (1, 256)}
    load: U16
    count: U16
    kind: Text
    argv: ListText


class Setting(Message, frozen=True):
    """Write a value to a file under /proc/sys or /sys until the session ends."""

    KIND: ClassVar[int] = 4
    path: Text
    value: Text


class Wakeup(Message, frozen=True):
    """Start the wakeup workload: answered by cpu_started for each CPU, then done."""

    KIND: ClassVar[int] = 5
    RANGES: ClassVar[Ranges] = {
        "interval_ns": (50_000, 10_000_000_000),
        "duration_ns": (50_000, 2_592_000_000_000_000),
        "priority": (1, 99),
        "hold_idle": (0, 1),
        "spool": (0, 1),
        "cpus": (0, 8_191),
    }
    interval_ns: U64
    duration_ns: U64
    priority: U8
    hold_idle: U8
    spool: U8
    cpus: ListU16


class Stop(Message, frozen=True):
    """End the workload now; what was measured is shipped as at a planned end."""

    KIND: ClassVar[int] = 6


class Frequency(Message, frozen=True):
    """Measure these CPUs: answered by cpu_frequency and cpu_counts for each, then done."""

    KIND: ClassVar[int] = 7
    RANGES: ClassVar[Ranges] = {"cpus": (0, 8_191)}
    cpus: ListU16


class Finish(Message, frozen=True):
    """Stop loads and put back settings; answered by done."""

    KIND: ClassVar[int] = 8


class Keepalive(Message, frozen=True):
    """The host is there. After `timeout_ms` without a word from it the probe ends; 0: never."""

    KIND: ClassVar[int] = 9
    RANGES: ClassVar[Ranges] = {"timeout_ms": (0, 3_600_000)}
    timeout_ms: U32


class Pause(Message, frozen=True):
    """Answered by done after that time; the next command of a plan waits for it."""

    KIND: ClassVar[int] = 10
    RANGES: ClassVar[Ranges] = {"duration_ms": (0, 60_000)}
    duration_ms: U32


class Phase(Message, frozen=True):
    """The next wakeup workload begins so much later than it else would."""

    KIND: ClassVar[int] = 11
    RANGES: ClassVar[Ranges] = {"phase_ns": (0, 10_000_000_000)}
    phase_ns: U64


class Recorder(Message, frozen=True):
    """Record events during the next wakeup workload, which sends recorder_started or a note."""

    KIND: ClassVar[int] = 12
    RANGES: ClassVar[Ranges] = {
        "engine": (0, 2),
        "threshold_ns": (0, 2_592_000_000_000_000),
        "tail_ppm": (0, 500_000),
        "ring_bytes": (0, 1_073_741_824),
        "stop_above_ns": (0, 2_592_000_000_000_000),
    }
    engine: U8
    threshold_ns: U64
    tail_ppm: U32
    control_every: U32
    ring_bytes: U64
    stop_above_ns: U64


class App(Message, frozen=True):
    """Watch the wakeups of a program's threads, which the recorder that was asked for records."""

    KIND: ClassVar[int] = 13
    RANGES: ClassVar[Ranges] = {
        "duration_ns": (1, 2_592_000_000_000_000),
        "spool": (0, 1),
        "pid": (0, 2_147_483_647),
    }
    duration_ns: U64
    spool: U8
    pid: U32
    comm: Text
    argv: ListText


class Section(Message, frozen=True):
    """Time each execution of a section of code."""

    KIND: ClassVar[int] = 22
    RANGES: ClassVar[Ranges] = {
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
    }
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


class ListPlaces(Message, frozen=True):
    """List names that match a pattern, of what a section can begin at."""

    KIND: ClassVar[int] = 23
    RANGES: ClassVar[Ranges] = {"kind": (0, 2), "pid": (0, 2_147_483_647)}
    kind: U8
    pattern: Text
    file: Text
    pid: U32


class Counters(Message, frozen=True):
    """Count these events in each repetition, or of each wakeup thread; none: no more."""

    KIND: ClassVar[int] = 14
    RANGES: ClassVar[Ranges] = {"types": (0, 9_223_372_036_854_775_807)}
    types: ListU64
    configs: ListU64
    modes: ListU16


class BenchSwitch(Message, frozen=True):
    """Pass a token round a ring of tasks: answered by switch_row messages, then done."""

    KIND: ClassVar[int] = 15
    RANGES: ClassVar[Ranges] = {
        "turn": (0, 200_000),
        "tasks": (1, 4_096),
        "channel": (0, 3),
        "threads": (0, 1),
        "set_bytes": (0, 1_099_511_627_776),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "priority": (0, 99),
        "cpus": (0, 8_191),
    }
    turn: U32
    tasks: U16
    channel: U8
    threads: U8
    set_bytes: U64
    block_ns: U64
    repetitions: U16
    priority: U8
    cpus: ListU16


class BenchMemory(Message, frozen=True):
    """Copy, set or read memory: answered by memory_row and memory_backing messages, then done."""

    KIND: ClassVar[int] = 16
    RANGES: ClassVar[Ranges] = {
        "turn": (0, 200_000),
        "operation": (0, 3),
        "source": (0, 2),
        "pages": (0, 3),
        "routine": (0, 1),
        "size": (4_096, 70_368_744_177_664),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
    }
    turn: U32
    operation: U8
    source: U8
    pages: U8
    routine: U8
    size: U64
    block_ns: U64
    repetitions: U16
    cpu: U16


class BenchClock(Message, frozen=True):
    """Read a clock in threads: answered by clock_nature and clock_row messages, then done."""

    KIND: ClassVar[int] = 17
    RANGES: ClassVar[Ranges] = {
        "turn": (0, 200_000),
        "method": (0, 3),
        "threads": (1, 1_024),
        "service_ns": (0, 60_000_000_000),
        "think_ns": (0, 60_000_000_000),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "cpus": (0, 8_191),
    }
    turn: U32
    clock: I32
    method: U8
    threads: U16
    service_ns: U64
    think_ns: U64
    block_ns: U64
    repetitions: U16
    cpus: ListU16


class BenchSharedClock(Message, frozen=True):
    """As bench_clock, in a form of shared_read.h: a clock_sharing message comes too."""

    KIND: ClassVar[int] = 25
    RANGES: ClassVar[Ranges] = {
        "turn": (0, 200_000),
        "method": (2, 3),
        "form": (0, 3),
        "threads": (1, 1_024),
        "service_ns": (0, 60_000_000_000),
        "think_ns": (0, 60_000_000_000),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "cpus": (0, 8_191),
    }
    turn: U32
    method: U8
    form: U8
    threads: U16
    service_ns: U64
    think_ns: U64
    block_ns: U64
    repetitions: U16
    cpus: ListU16


class BenchBulk(Message, frozen=True):
    """Clean lines of the cache in chunks under a lock: bulk_repetition, bulk_tuning, then done."""

    KIND: ClassVar[int] = 26
    RANGES: ClassVar[Ranges] = {
        "turn": (0, 200_000),
        "lines": (1, 1_048_576),
        "chunk": (0, 1_048_576),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
    }
    turn: U32
    lines: U32
    chunk: U32
    block_ns: U64
    repetitions: U16
    cpu: U16


class BenchTracedSwitch(Message, frozen=True):
    """As bench_switch; at the end of a turn its switches are traced: switch_trace comes too."""

    KIND: ClassVar[int] = 34
    RANGES: ClassVar[Ranges] = {
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
    }
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


class BenchFlush(Message, frozen=True):
    """Flush translations beside a victim: flush_repetition, flush_counting, then done."""

    KIND: ClassVar[int] = 32
    RANGES: ClassVar[Ranges] = {
        "turn": (0, 200_000),
        "operation": (0, 1),
        "pages": (1, 4_096),
        "set_bytes": (0, 1_073_741_824),
        "every_ns": (0, 60_000_000_000),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "caller": (0, 8_191),
        "victim": (0, 8_191),
    }
    turn: U32
    operation: U8
    pages: U16
    set_bytes: U64
    every_ns: U64
    block_ns: U64
    repetitions: U16
    caller: U16
    victim: U16


class BenchSwitchFlush(Message, frozen=True):
    """As bench_flush, where address spaces are switched: a victim_flushes message comes too."""

    KIND: ClassVar[int] = 35
    RANGES: ClassVar[Ranges] = {
        "turn": (0, 200_000),
        "tasks": (2, 4_096),
        "set_bytes": (0, 1_073_741_824),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "caller": (0, 8_191),
        "victim": (0, 8_191),
    }
    turn: U32
    tasks: U16
    set_bytes: U64
    block_ns: U64
    repetitions: U16
    caller: U16
    victim: U16


class BenchOffset(Message, frozen=True):
    """Exchange readings of a clock between two CPUs: offset_repetition, then done."""

    KIND: ClassVar[int] = 33
    RANGES: ClassVar[Ranges] = {
        "turn": (0, 200_000),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "first": (0, 8_191),
        "second": (0, 8_191),
        "shift_ns": (-1_000_000_000, 1_000_000_000),
        "drift_ppb": (-1_000_000, 1_000_000),
    }
    turn: U32
    clock: U8
    block_ns: U64
    repetitions: U16
    first: U16
    second: U16
    shift_ns: I32
    drift_ppb: I32


class BenchCommand(Message, frozen=True):
    """Run a command once: answered by command_output messages and a command_row, then done."""

    KIND: ClassVar[int] = 18
    RANGES: ClassVar[Ranges] = {"turn": (0, 200_000)}
    turn: U32
    argv: ListText


class BenchOff(Message, frozen=True):
    """Look for how long interrupts or preemption are disabled: answered by off_method and more."""

    KIND: ClassVar[int] = 24
    RANGES: ClassVar[Ranges] = {
        "turn": (0, 200_000),
        "what": (0, 1),
        "method": (0, 2),
        "period_ns": (10_000, 10_000_000),
        "block_ns": (1, 60_000_000_000),
        "repetitions": (1, 1_000),
        "cpus": (0, 8_191),
    }
    turn: U32
    what: U8
    method: U8
    period_ns: U64
    block_ns: U64
    repetitions: U16
    cpus: ListU16


class Accounting(Message, frozen=True):
    """End of the benchmarks: answered by result, then done."""

    KIND: ClassVar[int] = 19


class Run(Message, frozen=True):
    """Run a command: answered by run_output messages and run_ended, then done."""

    KIND: ClassVar[int] = 20
    timeout_ms: U32
    output_limit: U32
    argv: ListText


class Hits(Message, frozen=True):
    """Count on these CPUs how often functions and tracepoints are hit, in every process."""

    KIND: ClassVar[int] = 30
    names: ListText
    cpus: ListU16


class HitsEnd(Message, frozen=True):
    """Count hits no more: answered by cpu_hits for each CPU, then done."""

    KIND: ClassVar[int] = 31


class Put(Message, frozen=True):
    """Write a piece of a file, which replaces what is at its path once the last piece is there."""

    KIND: ClassVar[int] = 21
    RANGES: ClassVar[Ranges] = {
        "mode": (0, 4_095),
        "size": (0, 1_073_741_824),
        "offset": (0, 1_073_741_824),
    }
    path: Text
    mode: U32
    size: U64
    offset: U64
    checksum: U64
    data: Blob


class Detach(Message, frozen=True):
    """Detach the recorder during some blocks of the next wakeup workload."""

    KIND: ClassVar[int] = 40
    RANGES: ClassVar[Ranges] = {"block_ns": (1, 2_592_000_000_000_000)}
    block_ns: U64
    blocks: ListU16


class Welcome(Message, frozen=True):
    """Who the probe is and what it may do."""

    KIND: ClassVar[int] = 64
    RANGES: ClassVar[Ranges] = {
        "clock_resolution_ns": (0, 4_611_686_018_427_387_903),
        "clock_read_ns": (0, 4_611_686_018_427_387_903),
        "cpus": (0, 8_191),
    }
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


class Done(Message, frozen=True):
    """The command with that number was carried out."""

    KIND: ClassVar[int] = 65
    command: U32


class Failed(Message, frozen=True):
    """The command with that number was not carried out, and why."""

    KIND: ClassVar[int] = 66
    command: U32
    error: I32
    text: Text


class File(Message, frozen=True):
    """A piece of what a read found. error is an errno; more: another piece of this path follows."""

    KIND: ClassVar[int] = 67
    RANGES: ClassVar[Ranges] = {"truncated": (0, 1), "more": (0, 1)}
    command: U32
    error: I32
    truncated: U8
    more: U8
    path: Text
    data: Blob


class CpuStarted(Message, frozen=True):
    """A measuring thread is about to start: its first activation is due at start_ns."""

    KIND: ClassVar[int] = 68
    RANGES: ClassVar[Ranges] = {
        "cpu": (0, 8_191),
        "priority": (0, 99),
        "locked": (0, 1),
        "start_ns": (0, 4_611_686_018_427_387_903),
        "end_ns": (0, 4_611_686_018_427_387_903),
        "interval_ns": (0, 10_000_000_000),
    }
    cpu: U16
    policy: U8
    priority: U8
    locked: U8
    start_ns: U64
    end_ns: U64
    interval_ns: U64


class Samples(Message, frozen=True):
    """Consecutive activations of one CPU from `first` on; `data`: a block samples."""

    KIND: ClassVar[int] = 69
    RANGES: ClassVar[Ranges] = {"cpu": (0, 8_191), "first": (0, 9_223_372_036_854_775_807)}
    cpu: U16
    count: U16
    first: U64
    data: Blob


class Progress(Message, frozen=True):
    """At now_ns all activations of the k-th CPU below next[k] had been taken from its thread."""

    KIND: ClassVar[int] = 70
    RANGES: ClassVar[Ranges] = {
        "now_ns": (0, 4_611_686_018_427_387_903),
        "next": (0, 9_223_372_036_854_775_807),
    }
    now_ns: U64
    next: ListU64


class LoadWork(Message, frozen=True):
    """Work that a load did up to now_ns, all its instances together."""

    KIND: ClassVar[int] = 71
    RANGES: ClassVar[Ranges] = {
        "state": (0, 3),
        "now_ns": (0, 4_611_686_018_427_387_903),
        "work": (0, 9_223_372_036_854_775_807),
    }
    load: U16
    state: U8
    now_ns: U64
    work: U64
    message: Text


class CpuResult(Message, frozen=True):
    """The probe's own account of one CPU. dropped: found no room in the thread's buffer."""

    KIND: ClassVar[int] = 72
    RANGES: ClassVar[Ranges] = {
        "cpu": (0, 8_191),
        "priority": (0, 99),
        "locked": (0, 1),
        "start_ns": (0, 4_611_686_018_427_387_903),
        "end_ns": (0, 4_611_686_018_427_387_903),
        "seen": (0, 9_223_372_036_854_775_807),
        "overrun": (0, 9_223_372_036_854_775_807),
        "dropped": (0, 9_223_372_036_854_775_807),
    }
    cpu: U16
    policy: U8
    priority: U8
    locked: U8
    start_ns: U64
    end_ns: U64
    seen: U64
    overrun: U64
    dropped: U64


class Result(Message, frozen=True):
    """The workload has ended; all its samples were sent before. cpu_time_ns: of the probe alone."""

    KIND: ClassVar[int] = 73
    RANGES: ClassVar[Ranges] = {
        "cpu_time_ns": (0, 4_611_686_018_427_387_903),
        "peak_memory": (0, 9_223_372_036_854_775_807),
    }
    cpu_time_ns: U64
    peak_memory: U64


class CpuFrequency(Message, frozen=True):
    """The frequency of a CPU as measured with a chain of single-cycle instructions."""

    KIND: ClassVar[int] = 74
    RANGES: ClassVar[Ranges] = {"cpu": (0, 8_191), "hz": (0, 9_223_372_036_854_775_807)}
    cpu: U16
    hz: U64


class Note(Message, frozen=True):
    """Something that the probe noticed and the user should know."""

    KIND: ClassVar[int] = 75
    code: Text
    text: Text


class LoadStarted(Message, frozen=True):
    """A load was started; `unit` is what its work is counted in."""

    KIND: ClassVar[int] = 76
    load: U16
    count: U16
    unit: Text


class LoadDevice(Message, frozen=True):
    """What the kernel counted of the device that a load drives, up to now_ns."""

    KIND: ClassVar[int] = 114
    RANGES: ClassVar[Ranges] = {
        "now_ns": (0, 4_611_686_018_427_387_903),
        "interrupts": (0, 9_223_372_036_854_775_807),
        "softirqs": (0, 9_223_372_036_854_775_807),
        "in_count": (0, 9_223_372_036_854_775_807),
        "in_bytes": (0, 9_223_372_036_854_775_807),
        "out_count": (0, 9_223_372_036_854_775_807),
        "out_bytes": (0, 9_223_372_036_854_775_807),
        "received": (0, 9_223_372_036_854_775_807),
        "delivered": (0, 9_223_372_036_854_775_807),
    }
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


class CpuCounts(Message, frozen=True):
    """What a CPU's counters counted over a chain, in user mode alone where they can."""

    KIND: ClassVar[int] = 77
    RANGES: ClassVar[Ranges] = {
        "cpu": (0, 8_191),
        "cycles": (0, 9_223_372_036_854_775_807),
        "instructions": (0, 9_223_372_036_854_775_807),
    }
    cpu: U16
    chain: U32
    cycles_error: I32
    cycles: U64
    instructions_error: I32
    instructions: U64


class RecorderStarted(Message, frozen=True):
    """Events are recorded from now on, by that engine, in rings of so many for each CPU."""

    KIND: ClassVar[int] = 78
    RANGES: ClassVar[Ranges] = {"ring_events": (0, 9_223_372_036_854_775_807)}
    engine: Text
    ring_events: U64


class RecorderSource(Message, frozen=True):
    """A tracepoint that the recorder wants. error: the errno for which it was not attached; 0."""

    KIND: ClassVar[int] = 79
    name: Text
    error: I32


class Hook(Message, frozen=True):
    """A function of others: at a tracepoint, or a notifier; `at`: which, or what calls it."""

    KIND: ClassVar[int] = 125
    RANGES: ClassVar[Ranges] = {"known": (0, 1), "timed": (0, 1)}
    known: U8
    timed: U8
    at: Text
    name: Text


class SampleStages(Message, frozen=True):
    """How the activations of a block of samples came about; `data`: a block stages."""

    KIND: ClassVar[int] = 80
    RANGES: ClassVar[Ranges] = {"cpu": (0, 8_191), "first": (0, 9_223_372_036_854_775_807)}
    cpu: U16
    count: U16
    first: U64
    data: Blob


class Window(Message, frozen=True):
    """What was recorded of one activation; its events come next. Times that were not seen are 0."""

    KIND: ClassVar[int] = 81
    RANGES: ClassVar[Ranges] = {
        "cpu": (0, 8_191),
        "reason": (0, 2),
        "activation": (0, 9_223_372_036_854_775_807),
        "due_ns": (0, 4_611_686_018_427_387_903),
        "run_ns": (0, 4_611_686_018_427_387_903),
        "timer_ns": (0, 4_611_686_018_427_387_903),
        "waking_ns": (0, 4_611_686_018_427_387_903),
        "switched_ns": (0, 4_611_686_018_427_387_903),
        "observed_ns": (0, 4_611_686_018_427_387_903),
    }
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


class Events(Message, frozen=True):
    """Events of the preceding window, in order; `data`: see kinds of events."""

    KIND: ClassVar[int] = 82
    RANGES: ClassVar[Ranges] = {"cpu": (0, 8_191)}
    cpu: U16
    count: U16
    data: Blob


class Name(Message, frozen=True):
    """What an id means. table: enum name_table."""

    KIND: ClassVar[int] = 83
    table: U8
    id: U64
    text: Text


class SampleThreads(Message, frozen=True):
    """Whose the activations of a block of samples are; `data`: a block threads."""

    KIND: ClassVar[int] = 85
    RANGES: ClassVar[Ranges] = {"cpu": (0, 8_191), "first": (0, 9_223_372_036_854_775_807)}
    cpu: U16
    count: U16
    first: U64
    data: Blob


class AppWait(Message, frozen=True):
    """Waits of a watched program that are alike: off the CPU until due. `data`: a block waits."""

    KIND: ClassVar[int] = 112
    RANGES: ClassVar[Ranges] = {
        "tid": (0, 4_194_304),
        "waker": (0, 4_194_304),
        "origin": (0, 4),
        "state": (0, 127),
        "futex": (0, 9_223_372_036_854_775_807),
        "count": (1, 1_000_000_000_000_000),
        "total_ns": (0, 4_611_686_018_427_387_903),
        "longest_ns": (0, 4_611_686_018_427_387_903),
        "bins": (1, 784),
    }
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


class AppEnded(Message, frozen=True):
    """The program that was started is over: what it exited with, or the signal that ended it."""

    KIND: ClassVar[int] = 86
    status: U8
    signal: U8


class SectionStarted(Message, frozen=True):
    """How the executions of a section are timed from now on."""

    KIND: ClassVar[int] = 126
    RANGES: ClassVar[Ranges] = {
        "hook": (1, 8),
        "one_in": (1, 16_777_216),
        "parts": (0, 127),
        "tried_ns": (0, 4_611_686_018_427_387_903),
        "tried": (0, 9_223_372_036_854_775_807),
    }
    hook: U8
    one_in: U32
    parts: U8
    tried_ns: U64
    tried: U64


class SectionFloor(Message, frozen=True):
    """How long an empty section takes by the same hook; `after`: the run, and not before it."""

    KIND: ClassVar[int] = 130
    RANGES: ClassVar[Ranges] = {
        "after": (0, 1),
        "floor_ns": (0, 4_611_686_018_427_387_903),
        "with_ns": (0, 4_611_686_018_427_387_903),
        "without_ns": (0, 4_611_686_018_427_387_903),
    }
    after: U8
    executions: U32
    floor_ns: U64
    with_ns: U64
    without_ns: U64
    error: I32
    text: Text


class SectionLock(Message, frozen=True):
    """Waits for locks in a section that have the same callers, the innermost first."""

    KIND: ClassVar[int] = 131
    RANGES: ClassVar[Ranges] = {
        "count": (0, 9_223_372_036_854_775_807),
        "total_ns": (0, 4_611_686_018_427_387_903),
        "longest_ns": (0, 4_611_686_018_427_387_903),
    }
    lock: U64
    name: Text
    flags: U32
    count: U64
    total_ns: U64
    longest_ns: U64
    callers: ListText


class SectionPath(Message, frozen=True):
    """Executions of a section that ended with the same callers, or were seen there."""

    KIND: ClassVar[int] = 136
    RANGES: ClassVar[Ranges] = {
        "sampled": (0, 1),
        "above_ns": (0, 4_611_686_018_427_387_903),
        "longer": (0, 9_223_372_036_854_775_807),
        "total_ns": (0, 4_611_686_018_427_387_903),
        "longest_ns": (0, 4_611_686_018_427_387_903),
        "control": (0, 9_223_372_036_854_775_807),
        "lost": (0, 9_223_372_036_854_775_807),
    }
    sampled: U8
    above_ns: U64
    longer: U64
    total_ns: U64
    longest_ns: U64
    control: U64
    lost: U64
    callers: ListText


class Executions(Message, frozen=True):
    """Executions of a section that are kept; `data`: a block executions."""

    KIND: ClassVar[int] = 127
    RANGES: ClassVar[Ranges] = {"cpu": (0, 8_191), "first": (0, 9_223_372_036_854_775_807)}
    cpu: U16
    count: U16
    first: U64
    data: Blob


class ExecutionBins(Message, frozen=True):
    """All executions that ended on a CPU, by how long they took; `data`: a block waits."""

    KIND: ClassVar[int] = 128
    RANGES: ClassVar[Ranges] = {"cpu": (0, 8_191), "bins": (1, 784)}
    cpu: U16
    bins: U16
    data: Blob


class SectionResult(Message, frozen=True):
    """The account of all executions: entries = returned + in_flight + left + too_deep + no_room."""

    KIND: ClassVar[int] = 129
    RANGES: ClassVar[Ranges] = {
        "entries": (0, 9_223_372_036_854_775_807),
        "returned": (0, 9_223_372_036_854_775_807),
        "in_flight": (0, 9_223_372_036_854_775_807),
        "left": (0, 9_223_372_036_854_775_807),
        "too_deep": (0, 9_223_372_036_854_775_807),
        "no_room": (0, 9_223_372_036_854_775_807),
        "unmatched": (0, 9_223_372_036_854_775_807),
        "missed": (0, 9_223_372_036_854_775_807),
    }
    entries: U64
    returned: U64
    in_flight: U64
    left: U64
    too_deep: U64
    no_room: U64
    unmatched: U64
    missed: U64


class SectionArm(Message, frozen=True):
    """An arm of an experiment; `data`: a block waits, how long reading took before each."""

    KIND: ClassVar[int] = 150
    RANGES: ClassVar[Ranges] = {
        "treated": (0, 1),
        "reads": (1, 131_072),
        "entries": (0, 9_223_372_036_854_775_807),
        "returned": (0, 9_223_372_036_854_775_807),
        "failed": (0, 9_223_372_036_854_775_807),
        "bins": (0, 784),
    }
    treated: U8
    reads: U32
    entries: U64
    returned: U64
    failed: U64
    bins: U16
    data: Blob


class ExecutionCounts(Message, frozen=True):
    """Counts of the executions of the last block of that CPU; `data`: a block execution_counts."""

    KIND: ClassVar[int] = 132
    RANGES: ClassVar[Ranges] = {"cpu": (0, 8_191), "first": (0, 9_223_372_036_854_775_807)}
    cpu: U16
    count: U16
    first: U64
    data: Blob


class FloorCounts(Message, frozen=True):
    """Counts of an empty section before the run: the medians of so many executions."""

    KIND: ClassVar[int] = 133
    RANGES: ClassVar[Ranges] = {"values": (0, 9_223_372_036_854_775_807)}
    executions: U32
    values: ListU64


class ListedPlace(Message, frozen=True):
    """A name that matches."""

    KIND: ClassVar[int] = 134
    RANGES: ClassVar[Ranges] = {
        "kind": (0, 3),
        "obstacle": (0, 9),
        "offset": (0, 9_223_372_036_854_775_807),
    }
    kind: U8
    name: Text
    detail: Text
    hooks: U16
    obstacle: U8
    same: U32
    offset: U64
    arguments: ListText


class PlacesListed(Message, frozen=True):
    """How many names matched, and which of their kind's hooks work on this board."""

    KIND: ClassVar[int] = 135
    RANGES: ClassVar[Ranges] = {
        "hooks": (0, 8),
        "floor_ns": (0, 4_611_686_018_427_387_903),
        "with_ns": (0, 4_611_686_018_427_387_903),
        "without_ns": (0, 4_611_686_018_427_387_903),
    }
    matched: U32
    lacks: U32
    hooks: ListU16
    texts: ListText
    floor_ns: ListU64
    with_ns: ListU64
    without_ns: ListU64


class RecorderResult(Message, frozen=True):
    """What the recorder did, and what it cost. run_ns: 0 where the kernel does not report it."""

    KIND: ClassVar[int] = 84
    RANGES: ClassVar[Ranges] = {
        "windows": (0, 9_223_372_036_854_775_807),
        "rate_limited": (0, 9_223_372_036_854_775_807),
        "events": (0, 9_223_372_036_854_775_807),
        "missed": (0, 9_223_372_036_854_775_807),
        "runs": (0, 9_223_372_036_854_775_807),
        "run_ns": (0, 4_611_686_018_427_387_903),
    }
    windows: U64
    rate_limited: U64
    events: U64
    missed: U64
    runs: U64
    run_ns: U64


class Symbols(Message, frozen=True):
    """How functions in events came by their names. shown: the kernel shows their addresses."""

    KIND: ClassVar[int] = 88
    shown: U8
    kptr_restrict: I32
    lowered: U8
    addresses: U32
    named: U32


class BuildId(Message, frozen=True):
    """Of which build the kernel is, or a module of which a function was named; module: its name."""

    KIND: ClassVar[int] = 89
    module: Text
    id: Blob


class RecorderMaximum(Message, frozen=True):
    """The longest execution of an interrupt or softirq; comes before recorder_result."""

    KIND: ClassVar[int] = 147
    RANGES: ClassVar[Ranges] = {
        "kind": (0, 3),
        "cpu": (0, 8_191),
        "arrivals": (0, 9_223_372_036_854_775_807),
        "longest_ns": (0, 4_611_686_018_427_387_903),
        "longest_at_ns": (0, 4_611_686_018_427_387_903),
        "totals_ns": (0, 4_611_686_018_427_387_903),
        "spans_ns": (0, 4_611_686_018_427_387_903),
    }
    kind: U8
    number: U32
    cpu: U16
    arrivals: U64
    longest_ns: U64
    longest_at_ns: U64
    totals_ns: ListU64
    spans_ns: ListU64
    name: Text


class RecorderCost(Message, frozen=True):
    """What recording cost as far as the board reports it; comes before recorder_result."""

    KIND: ClassVar[int] = 87
    RANGES: ClassVar[Ranges] = {
        "sampled_runs": (0, 9_223_372_036_854_775_807),
        "sampled_ns": (0, 4_611_686_018_427_387_903),
        "gather_ns": (0, 4_611_686_018_427_387_903),
    }
    sampled_runs: U64
    sampled_ns: U64
    gather_ns: U64


class RecorderDetached(Message, frozen=True):
    """A stretch of time in which the recorder was detached; comes before recorder_result."""

    KIND: ClassVar[int] = 120
    RANGES: ClassVar[Ranges] = {
        "begin_ns": (0, 4_611_686_018_427_387_903),
        "from_ns": (0, 4_611_686_018_427_387_903),
        "to_ns": (0, 4_611_686_018_427_387_903),
        "until_ns": (0, 4_611_686_018_427_387_903),
        "counted": (0, 1),
        "before": (0, 9_223_372_036_854_775_807),
        "after": (0, 9_223_372_036_854_775_807),
    }
    begin_ns: U64
    from_ns: U64
    to_ns: U64
    until_ns: U64
    error: I32
    counted: U8
    before: U64
    after: U64


class Ack(Message, frozen=True):
    """All frames below `next` have arrived."""

    KIND: ClassVar[int] = 240
    next: U32


class Resend(Message, frozen=True):
    """These frames are missing. For a single one, `have` is the bitmap of its fragments at hand."""

    KIND: ClassVar[int] = 241
    first: U32
    count: U16
    have: Blob


class Fragment(Message, frozen=True):
    """A piece of a frame that was asked for again: small frames survive a bad line."""

    KIND: ClassVar[int] = 242
    number: U32
    kind: U8
    index: U16
    total: U16
    data: Blob


class Tail(Message, frozen=True):
    """The last number sent, when nothing follows it by which its loss would be noticed."""

    KIND: ClassVar[int] = 243
    last: U32


class Mark(Message, frozen=True):
    """Answered by marked with the same token, after everything that was asked for before it."""

    KIND: ClassVar[int] = 244
    token: U32


class Marked(Message, frozen=True):
    """Everything that was asked for before that mark has been sent."""

    KIND: ClassVar[int] = 245
    token: U32


class SwitchRepetition(Message, frozen=True):
    """A block of a ring, and one of a task that passes the token to itself as often."""

    KIND: ClassVar[int] = 90
    RANGES: ClassVar[Ranges] = {
        "ring_ns": (0, 4_611_686_018_427_387_903),
        "own_ns": (0, 4_611_686_018_427_387_903),
        "hops": (0, 9_223_372_036_854_775_807),
        "switches": (0, 9_223_372_036_854_775_807),
    }
    turn: U32
    repetition: U16
    ring_ns: U64
    own_ns: U64
    hops: U64
    switches: U64


class SwitchFlushes(Message, frozen=True):
    """What was counted in a block of its own. error: the errno for which it was not; 0."""

    KIND: ClassVar[int] = 91
    RANGES: ClassVar[Ranges] = {
        "hops": (0, 9_223_372_036_854_775_807),
        "switches": (0, 9_223_372_036_854_775_807),
        "flushes": (0, 9_223_372_036_854_775_807),
    }
    turn: U32
    hops: U64
    switches: U64
    flushes: U64
    error: I32


class MemoryRepetition(Message, frozen=True):
    """So many passes over the bytes of a turn; of latency, so many dependent reads."""

    KIND: ClassVar[int] = 92
    RANGES: ClassVar[Ranges] = {
        "ns": (0, 9_223_372_036_854_775_807),
        "passes": (0, 9_223_372_036_854_775_807),
    }
    turn: U32
    repetition: U16
    ns: U64
    passes: U64


class MemoryBacking(Message, frozen=True):
    """What stands behind a buffer of a turn, before its first repetition and after its last."""

    KIND: ClassVar[int] = 93
    RANGES: ClassVar[Ranges] = {
        "after": (0, 1),
        "target": (0, 1),
        "pages": (0, 9_223_372_036_854_775_807),
        "present": (0, 9_223_372_036_854_775_807),
        "frames": (0, 9_223_372_036_854_775_807),
        "huge_bytes": (0, 9_223_372_036_854_775_807),
        "hugetlb_bytes": (0, 9_223_372_036_854_775_807),
    }
    turn: U32
    after: U8
    target: U8
    pages: U64
    present: U64
    frames: U64
    huge_bytes: U64
    hugetlb_bytes: U64
    error: I32


class ClockProperties(Message, frozen=True):
    """What reading a clock is. system_call: enum clock_calls."""

    KIND: ClassVar[int] = 94
    RANGES: ClassVar[Ranges] = {
        "system_call": (0, 2),
        "resolution_ns": (0, 4_611_686_018_427_387_903),
    }
    turn: U32
    system_call: U8
    resolution_ns: U64


class ClockRepetition(Message, frozen=True):
    """What one thread did in a repetition: its calls, and then its comparisons with the others."""

    KIND: ClassVar[int] = 95
    RANGES: ClassVar[Ranges] = {
        "ns": (0, 9_223_372_036_854_775_807),
        "calls": (0, 9_223_372_036_854_775_807),
        "checks": (0, 9_223_372_036_854_775_807),
        "backward": (0, 9_223_372_036_854_775_807),
        "most_backward_ns": (0, 4_611_686_018_427_387_903),
    }
    turn: U32
    repetition: U16
    thread: U16
    cpu: U16
    ns: U64
    calls: U64
    checks: U64
    backward: U64
    most_backward_ns: U64


class ClockSharing(Message, frozen=True):
    """What sharing reads of a clock costs, and how old the values of a turn were."""

    KIND: ClassVar[int] = 103
    RANGES: ClassVar[Ranges] = {
        "direct_ps": (0, 9_223_372_036_854_775_807),
        "strict_ps": (0, 9_223_372_036_854_775_807),
        "break_even_ps": (0, 9_223_372_036_854_775_807),
        "checks": (0, 9_223_372_036_854_775_807),
        "stale": (0, 9_223_372_036_854_775_807),
        "most_stale_ns": (0, 4_611_686_018_427_387_903),
    }
    turn: U32
    direct_ps: U64
    strict_ps: U64
    break_even_ps: U64
    patience: U32
    checks: U64
    stale: U64
    most_stale_ns: U64


class BulkRepetition(Message, frozen=True):
    """Sets of lines that were cleaned, and the delays of signals that came meanwhile."""

    KIND: ClassVar[int] = 104
    RANGES: ClassVar[Ranges] = {
        "ns": (0, 9_223_372_036_854_775_807),
        "passes": (0, 9_223_372_036_854_775_807),
        "holds": (0, 9_223_372_036_854_775_807),
        "delays": (0, 9_223_372_036_854_775_807),
        "p50_ns": (0, 4_611_686_018_427_387_903),
        "p99_ns": (0, 4_611_686_018_427_387_903),
        "most_ns": (0, 4_611_686_018_427_387_903),
    }
    turn: U32
    repetition: U16
    ns: U64
    passes: U64
    holds: U64
    delays: U64
    p50_ns: U64
    p99_ns: U64
    most_ns: U64


class BulkTuning(Message, frozen=True):
    """What bulk_work.h makes of the costs, and the chunk that was cleaned in a turn."""

    KIND: ClassVar[int] = 105
    RANGES: ClassVar[Ranges] = {
        "floor_ns": (0, 4_611_686_018_427_387_903),
        "item_ps": (0, 9_223_372_036_854_775_807),
        "gap_ns": (0, 4_611_686_018_427_387_903),
        "choice": (0, 9_223_372_036_854_775_807),
        "chunk": (0, 9_223_372_036_854_775_807),
    }
    turn: U32
    floor_ns: U64
    item_ps: U64
    gap_ns: U64
    choice: U64
    chunk: U64


class FlushRepetition(Message, frozen=True):
    """What a victim did in a block of each kind, while another CPU flushed."""

    KIND: ClassVar[int] = 106
    RANGES: ClassVar[Ranges] = {
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
    }
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


class FlushCounting(Message, frozen=True):
    """Whether flushes were counted. error: the errno for which they were not; 0."""

    KIND: ClassVar[int] = 107
    turn: U32
    error: I32


class VictimFlushes(Message, frozen=True):
    """Flushes for which the victim of switches was interrupted in the blocks of a turn."""

    KIND: ClassVar[int] = 115
    RANGES: ClassVar[Ranges] = {
        "shared": (0, 9_223_372_036_854_775_807),
        "other": (0, 9_223_372_036_854_775_807),
    }
    turn: U32
    shared: U64
    other: U64
    error: I32


class OffsetRepetition(Message, frozen=True):
    """Of the exchanges of a block the quickest: the first CPU's clock before and after it."""

    KIND: ClassVar[int] = 108
    RANGES: ClassVar[Ranges] = {
        "exchanges": (0, 9_223_372_036_854_775_807),
        "begin_ns": (0, 4_611_686_018_427_387_903),
        "peer_ns": (0, 4_611_686_018_427_387_903),
        "end_ns": (0, 4_611_686_018_427_387_903),
    }
    turn: U32
    repetition: U16
    exchanges: U64
    begin_ns: U64
    peer_ns: U64
    end_ns: U64


class FlushReasons(Message, frozen=True):
    """Flushes in the block of switch_flushes by reason. error: an errno for which they were not."""

    KIND: ClassVar[int] = 109
    RANGES: ClassVar[Ranges] = {"flushes": (0, 9_223_372_036_854_775_807)}
    turn: U32
    flushes: ListU64
    error: I32


class SwitchTrace(Message, frozen=True):
    """A piece of the trace of a turn's switches, in order: lines of ftrace's text."""

    KIND: ClassVar[int] = 113
    turn: U32
    error: I32
    data: Blob


class CommandRepetition(Message, frozen=True):
    """How a command went. status: its exit status; signal: the one that ended it, or 0."""

    KIND: ClassVar[int] = 96
    RANGES: ClassVar[Ranges] = {
        "wall_ns": (0, 4_611_686_018_427_387_903),
        "user_ns": (0, 4_611_686_018_427_387_903),
        "system_ns": (0, 4_611_686_018_427_387_903),
        "peak_memory": (0, 9_223_372_036_854_775_807),
    }
    turn: U32
    wall_ns: U64
    user_ns: U64
    system_ns: U64
    peak_memory: U64
    status: U8
    signal: U8


class CommandOutput(Message, frozen=True):
    """A piece of what a command wrote, in order. cut: what came before it was too much to keep."""

    KIND: ClassVar[int] = 97
    turn: U32
    cut: U8
    data: Blob


class OffMethod(Message, frozen=True):
    """How it is known what is disabled, and why in no better way; comes first."""

    KIND: ClassVar[int] = 145
    RANGES: ClassVar[Ranges] = {"method": (1, 2)}
    turn: U32
    method: U8
    why: Text


class OffCpu(Message, frozen=True):
    """How a CPU was sampled, or traced, over the whole turn."""

    KIND: ClassVar[int] = 140
    RANGES: ClassVar[Ranges] = {
        "cpu": (0, 8_191),
        "samples": (0, 9_223_372_036_854_775_807),
        "work": (0, 9_223_372_036_854_775_807),
        "unpaired": (0, 9_223_372_036_854_775_807),
        "lost": (0, 9_223_372_036_854_775_807),
        "usual_ns": (0, 4_611_686_018_427_387_903),
        "limit_ns": (0, 4_611_686_018_427_387_903),
        "without_ns": (0, 4_611_686_018_427_387_903),
        "with_ns": (0, 4_611_686_018_427_387_903),
    }
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


class OffRepetition(Message, frozen=True):
    """What the points of the sampling grid showed in a block of time of a CPU."""

    KIND: ClassVar[int] = 141
    RANGES: ClassVar[Ranges] = {
        "cpu": (0, 8_191),
        "ns": (0, 9_223_372_036_854_775_807),
        "points": (0, 9_223_372_036_854_775_807),
        "disabled": (0, 9_223_372_036_854_775_807),
        "handler": (0, 9_223_372_036_854_775_807),
        "user": (0, 9_223_372_036_854_775_807),
        "unknown": (0, 9_223_372_036_854_775_807),
    }
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


class OffGroup(Message, frozen=True):
    """Stretches that ended, and began, with the same callers, the innermost first."""

    KIND: ClassVar[int] = 142
    RANGES: ClassVar[Ranges] = {
        "group": (0, 1_024),
        "why": (0, 3),
        "stretches": (0, 9_223_372_036_854_775_807),
        "lasting": (0, 9_223_372_036_854_775_807),
        "points": (0, 9_223_372_036_854_775_807),
        "seen_ns": (0, 4_611_686_018_427_387_903),
        "longest_ns": (0, 4_611_686_018_427_387_903),
    }
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


class OffBins(Message, frozen=True):
    """All stretches of a CPU, by tracepoints, by how long they took; `data`: a block waits."""

    KIND: ClassVar[int] = 146
    RANGES: ClassVar[Ranges] = {"cpu": (0, 8_191), "bins": (1, 784)}
    turn: U32
    cpu: U16
    bins: U16
    data: Blob


class OffLongest(Message, frozen=True):
    """One of the longest stretches with interrupts or preemption disabled."""

    KIND: ClassVar[int] = 143
    RANGES: ClassVar[Ranges] = {
        "at_ns": (0, 4_611_686_018_427_387_903),
        "cpu": (0, 8_191),
        "seen_ns": (0, 4_611_686_018_427_387_903),
        "points": (0, 9_223_372_036_854_775_807),
        "group": (0, 1_024),
        "counted_ns": (0, 4_611_686_018_427_387_903),
        "counts": (0, 9_223_372_036_854_775_807),
    }
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


class OffStretches(Message, frozen=True):
    """Stretches of all CPUs; `data`: a block off_stretches."""

    KIND: ClassVar[int] = 144
    RANGES: ClassVar[Ranges] = {"first": (0, 9_223_372_036_854_775_807)}
    turn: U32
    count: U16
    first: U64
    data: Blob


class RepetitionCounts(Message, frozen=True):
    """What the counters counted in a repetition, in the order of the command counters."""

    KIND: ClassVar[int] = 98
    RANGES: ClassVar[Ranges] = {"values": (0, 9_223_372_036_854_775_807)}
    turn: U32
    repetition: U16
    values: ListU64


class BenchFailed(Message, frozen=True):
    """A turn could not be made, or not to its end. error: an errno; its command fails too."""

    KIND: ClassVar[int] = 99
    turn: U32
    error: I32
    text: Text


class CpuEvents(Message, frozen=True):
    """What was counted of a CPU's measuring thread, in the order of the command counters."""

    KIND: ClassVar[int] = 100
    RANGES: ClassVar[Ranges] = {"cpu": (0, 8_191), "values": (0, 9_223_372_036_854_775_807)}
    cpu: U16
    values: ListU64


class RunOutput(Message, frozen=True):
    """A piece of what a command that was run wrote. stream: enum output_stream."""

    KIND: ClassVar[int] = 101
    RANGES: ClassVar[Ranges] = {"stream": (1, 2)}
    stream: U8
    data: Blob


class RunEnded(Message, frozen=True):
    """How a command that was run ended: its exit status, or the signal that ended it."""

    KIND: ClassVar[int] = 102
    RANGES: ClassVar[Ranges] = {
        "timed_out": (0, 1),
        "wall_ns": (0, 4_611_686_018_427_387_903),
        "omitted": (0, 9_223_372_036_854_775_807),
    }
    status: U8
    signal: U8
    timed_out: U8
    wall_ns: U64
    omitted: U64


class HitSource(Message, frozen=True):
    """Whether a name of the command hits is counted. error: an errno for which it is not; 0."""

    KIND: ClassVar[int] = 110
    place: U16
    error: I32
    text: Text


class CpuHits(Message, frozen=True):
    """Hits on a CPU, in the order of the names; 0 for those that are not counted."""

    KIND: ClassVar[int] = 111
    RANGES: ClassVar[Ranges] = {"values": (0, 9_223_372_036_854_775_807)}
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
