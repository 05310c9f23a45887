"""The messages of the wire.

Written by tools/wiregen.py from schema/wire.toml. Do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from whylate.wire.pack import Reader, Writer

PROTOCOL = 1
MAX_PAYLOAD = 4096
FRAGMENT_SIZE = 40
FIRST_CONTROL = 240


class Message:
    """What all messages have: KIND and the payload they make."""

    KIND: ClassVar[int]

    def pack(self) -> bytes:
        """Return the payload."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Hello(Message):
    """The host's first word; the probe answers with welcome."""

    KIND: ClassVar[int] = 1
    version: str

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.text(self.version)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Hello:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.text(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Read(Message):
    """Read what matches a glob pattern: answered by file messages, then done."""

    KIND: ClassVar[int] = 2
    how: int
    limit: int
    offset: int
    pattern: str

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u8(self.how)
        writer.u32(self.limit)
        writer.u64(self.offset)
        writer.text(self.pattern)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Read:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u8(),
            reader.u32(),
            reader.u64(),
            reader.text(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class LoadStart(Message):
    """Start `count` instances of a load. argv is for the kind cmd alone."""

    KIND: ClassVar[int] = 3
    load: int
    count: int
    kind: str
    argv: tuple[str, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.load)
        writer.u16(self.count)
        writer.text(self.kind)
        writer.list_str(self.argv)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> LoadStart:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.u16(),
            reader.text(),
            reader.list_str(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Setting(Message):
    """Write a value to a file under /proc/sys or /sys until the session ends."""

    KIND: ClassVar[int] = 4
    path: str
    value: str

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.text(self.path)
        writer.text(self.value)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Setting:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.text(),
            reader.text(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Wakeup(Message):
    """Start the wakeup workload: answered by cpu_started for each CPU, then done."""

    KIND: ClassVar[int] = 5
    interval_ns: int
    duration_ns: int
    priority: int
    hold_idle: int
    spool: int
    cpus: tuple[int, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u64(self.interval_ns)
        writer.u64(self.duration_ns)
        writer.u8(self.priority)
        writer.u8(self.hold_idle)
        writer.u8(self.spool)
        writer.list_u16(self.cpus)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Wakeup:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u64(),
            reader.u64(),
            reader.u8(),
            reader.u8(),
            reader.u8(),
            reader.list_u16(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Stop(Message):
    """End the workload now; what was measured is shipped as at a planned end."""

    KIND: ClassVar[int] = 6

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Stop:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls()
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Frequency(Message):
    """Measure these CPUs: answered by cpu_frequency and cpu_counts for each, then done."""

    KIND: ClassVar[int] = 7
    cpus: tuple[int, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.list_u16(self.cpus)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Frequency:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.list_u16(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Finish(Message):
    """Stop loads and put back settings; answered by done."""

    KIND: ClassVar[int] = 8

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Finish:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls()
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Keepalive(Message):
    """The host is there. After `timeout_ms` without a word from it the probe ends; 0: never."""

    KIND: ClassVar[int] = 9
    timeout_ms: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.timeout_ms)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Keepalive:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Pause(Message):
    """Answered by done after that time; the next command of a plan waits for it."""

    KIND: ClassVar[int] = 10
    duration_ms: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.duration_ms)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Pause:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Phase(Message):
    """The next wakeup workload begins so much later than it else would."""

    KIND: ClassVar[int] = 11
    phase_ns: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u64(self.phase_ns)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Phase:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Recorder(Message):
    """Record events during the next wakeup workload, which sends recorder_started or a note."""

    KIND: ClassVar[int] = 12
    engine: int
    threshold_ns: int
    tail_ppm: int
    body_every: int
    ring_bytes: int
    stop_above_ns: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u8(self.engine)
        writer.u64(self.threshold_ns)
        writer.u32(self.tail_ppm)
        writer.u32(self.body_every)
        writer.u64(self.ring_bytes)
        writer.u64(self.stop_above_ns)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Recorder:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u8(),
            reader.u64(),
            reader.u32(),
            reader.u32(),
            reader.u64(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class App(Message):
    """Watch the wakeups of a program's threads, which the recorder that was asked for records."""

    KIND: ClassVar[int] = 13
    duration_ns: int
    spool: int
    pid: int
    comm: str
    argv: tuple[str, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u64(self.duration_ns)
        writer.u8(self.spool)
        writer.u32(self.pid)
        writer.text(self.comm)
        writer.list_str(self.argv)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> App:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u64(),
            reader.u8(),
            reader.u32(),
            reader.text(),
            reader.list_str(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Counters(Message):
    """Count these events in each repetition, or of each wakeup thread; none: no more."""

    KIND: ClassVar[int] = 14
    types: tuple[int, ...]
    configs: tuple[int, ...]
    modes: tuple[int, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.list_u64(self.types)
        writer.list_u64(self.configs)
        writer.list_u16(self.modes)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Counters:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.list_u64(),
            reader.list_u64(),
            reader.list_u16(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class SwitchTrial(Message):
    """Pass a token round a ring of tasks: answered by switch_row messages, then done."""

    KIND: ClassVar[int] = 15
    trial: int
    tasks: int
    over: int
    threads: int
    set_bytes: int
    block_ns: int
    repetitions: int
    priority: int
    cpus: tuple[int, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.u16(self.tasks)
        writer.u8(self.over)
        writer.u8(self.threads)
        writer.u64(self.set_bytes)
        writer.u64(self.block_ns)
        writer.u16(self.repetitions)
        writer.u8(self.priority)
        writer.list_u16(self.cpus)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> SwitchTrial:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u16(),
            reader.u8(),
            reader.u8(),
            reader.u64(),
            reader.u64(),
            reader.u16(),
            reader.u8(),
            reader.list_u16(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class MemoryTrial(Message):
    """Copy, set or read memory: answered by memory_row and memory_backing messages, then done."""

    KIND: ClassVar[int] = 16
    trial: int
    what: int
    source: int
    pages: int
    routine: int
    size: int
    block_ns: int
    repetitions: int
    cpu: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.u8(self.what)
        writer.u8(self.source)
        writer.u8(self.pages)
        writer.u8(self.routine)
        writer.u64(self.size)
        writer.u64(self.block_ns)
        writer.u16(self.repetitions)
        writer.u16(self.cpu)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> MemoryTrial:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u8(),
            reader.u8(),
            reader.u8(),
            reader.u8(),
            reader.u64(),
            reader.u64(),
            reader.u16(),
            reader.u16(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class ClockTrial(Message):
    """Read a clock in threads: answered by clock_nature and clock_row messages, then done."""

    KIND: ClassVar[int] = 17
    trial: int
    clock: int
    how: int
    threads: int
    service_ns: int
    think_ns: int
    block_ns: int
    repetitions: int
    cpus: tuple[int, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.i32(self.clock)
        writer.u8(self.how)
        writer.u16(self.threads)
        writer.u64(self.service_ns)
        writer.u64(self.think_ns)
        writer.u64(self.block_ns)
        writer.u16(self.repetitions)
        writer.list_u16(self.cpus)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> ClockTrial:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.i32(),
            reader.u8(),
            reader.u16(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u16(),
            reader.list_u16(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class CommandTrial(Message):
    """Run a command once: answered by command_output messages and a command_row, then done."""

    KIND: ClassVar[int] = 18
    trial: int
    argv: tuple[str, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.list_str(self.argv)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> CommandTrial:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.list_str(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Account(Message):
    """End of the trials: answered by result, then done."""

    KIND: ClassVar[int] = 19

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Account:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls()
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Welcome(Message):
    """Who the probe is and what it may do."""

    KIND: ClassVar[int] = 64
    version: str
    arch: str
    sysname: str
    nodename: str
    release: str
    kernel_version: str
    machine: str
    uid: int
    capabilities: int
    rtprio_limit: int
    memlock_limit: int
    clock_resolution_ns: int
    clock_read_ns: int
    cpus: tuple[int, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.text(self.version)
        writer.text(self.arch)
        writer.text(self.sysname)
        writer.text(self.nodename)
        writer.text(self.release)
        writer.text(self.kernel_version)
        writer.text(self.machine)
        writer.u32(self.uid)
        writer.u64(self.capabilities)
        writer.u64(self.rtprio_limit)
        writer.u64(self.memlock_limit)
        writer.u64(self.clock_resolution_ns)
        writer.u64(self.clock_read_ns)
        writer.list_u16(self.cpus)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Welcome:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.text(),
            reader.text(),
            reader.text(),
            reader.text(),
            reader.text(),
            reader.text(),
            reader.text(),
            reader.u32(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.list_u16(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Done(Message):
    """The command with that number was carried out."""

    KIND: ClassVar[int] = 65
    command: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.command)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Done:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Failed(Message):
    """The command with that number was not carried out, and why."""

    KIND: ClassVar[int] = 66
    command: int
    error: int
    text: str

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.command)
        writer.i32(self.error)
        writer.text(self.text)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Failed:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.i32(),
            reader.text(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class File(Message):
    """A piece of what a read found. error is an errno; more: another piece of this path follows."""

    KIND: ClassVar[int] = 67
    command: int
    error: int
    truncated: int
    more: int
    path: str
    data: bytes

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.command)
        writer.i32(self.error)
        writer.u8(self.truncated)
        writer.u8(self.more)
        writer.text(self.path)
        writer.blob(self.data)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> File:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.i32(),
            reader.u8(),
            reader.u8(),
            reader.text(),
            reader.blob(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class CpuStarted(Message):
    """A measuring thread is about to start: its first activation is due at start_ns."""

    KIND: ClassVar[int] = 68
    cpu: int
    policy: int
    priority: int
    locked: int
    start_ns: int
    end_ns: int
    interval_ns: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.cpu)
        writer.u8(self.policy)
        writer.u8(self.priority)
        writer.u8(self.locked)
        writer.u64(self.start_ns)
        writer.u64(self.end_ns)
        writer.u64(self.interval_ns)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> CpuStarted:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.u8(),
            reader.u8(),
            reader.u8(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Samples(Message):
    """Consecutive activations of one CPU from `first` on; `data` as in probe/src/samples.h."""

    KIND: ClassVar[int] = 69
    cpu: int
    count: int
    first: int
    data: bytes

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.cpu)
        writer.u16(self.count)
        writer.u64(self.first)
        writer.blob(self.data)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Samples:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.u16(),
            reader.u64(),
            reader.blob(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Progress(Message):
    """At now_ns all activations of the k-th CPU below next[k] had been taken from its thread."""

    KIND: ClassVar[int] = 70
    now_ns: int
    next: tuple[int, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u64(self.now_ns)
        writer.list_u64(self.next)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Progress:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u64(),
            reader.list_u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class LoadWork(Message):
    """Work that a load did up to now_ns, all its instances together."""

    KIND: ClassVar[int] = 71
    load: int
    state: int
    now_ns: int
    work: int
    message: str

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.load)
        writer.u8(self.state)
        writer.u64(self.now_ns)
        writer.u64(self.work)
        writer.text(self.message)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> LoadWork:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.u8(),
            reader.u64(),
            reader.u64(),
            reader.text(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class CpuResult(Message):
    """The probe's own account of one CPU. dropped: found no room in the thread's buffer."""

    KIND: ClassVar[int] = 72
    cpu: int
    policy: int
    priority: int
    locked: int
    start_ns: int
    end_ns: int
    seen: int
    overrun: int
    dropped: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.cpu)
        writer.u8(self.policy)
        writer.u8(self.priority)
        writer.u8(self.locked)
        writer.u64(self.start_ns)
        writer.u64(self.end_ns)
        writer.u64(self.seen)
        writer.u64(self.overrun)
        writer.u64(self.dropped)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> CpuResult:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.u8(),
            reader.u8(),
            reader.u8(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Result(Message):
    """The workload has ended; all its samples were sent before. cpu_time_ns: of the probe alone."""

    KIND: ClassVar[int] = 73
    cpu_time_ns: int
    peak_memory: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u64(self.cpu_time_ns)
        writer.u64(self.peak_memory)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Result:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u64(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class CpuFrequency(Message):
    """The frequency of a CPU as measured with a chain of single-cycle instructions."""

    KIND: ClassVar[int] = 74
    cpu: int
    hz: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.cpu)
        writer.u64(self.hz)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> CpuFrequency:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Note(Message):
    """Something that the probe noticed and the user should know."""

    KIND: ClassVar[int] = 75
    code: str
    text: str

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.text(self.code)
        writer.text(self.text)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Note:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.text(),
            reader.text(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class LoadStarted(Message):
    """A load was started; `unit` is what its work is counted in."""

    KIND: ClassVar[int] = 76
    load: int
    count: int
    unit: str

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.load)
        writer.u16(self.count)
        writer.text(self.unit)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> LoadStarted:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.u16(),
            reader.text(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class CpuCounts(Message):
    """What a CPU's counters counted over a chain; of user mode alone where they can tell."""

    KIND: ClassVar[int] = 77
    cpu: int
    chain: int
    cycles_error: int
    cycles: int
    instructions_error: int
    instructions: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.cpu)
        writer.u32(self.chain)
        writer.i32(self.cycles_error)
        writer.u64(self.cycles)
        writer.i32(self.instructions_error)
        writer.u64(self.instructions)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> CpuCounts:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.u32(),
            reader.i32(),
            reader.u64(),
            reader.i32(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class RecorderStarted(Message):
    """Events are recorded from now on, by that engine, in rings of so many for each CPU."""

    KIND: ClassVar[int] = 78
    engine: str
    ring_events: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.text(self.engine)
        writer.u64(self.ring_events)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> RecorderStarted:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.text(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class RecorderSource(Message):
    """A tracepoint that the recorder wants. error: the errno for which it was not attached; 0."""

    KIND: ClassVar[int] = 79
    name: str
    error: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.text(self.name)
        writer.i32(self.error)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> RecorderSource:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.text(),
            reader.i32(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class SampleStages(Message):
    """How the activations of a block of samples came about; `data` as in probe/src/samples.h."""

    KIND: ClassVar[int] = 80
    cpu: int
    count: int
    first: int
    data: bytes

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.cpu)
        writer.u16(self.count)
        writer.u64(self.first)
        writer.blob(self.data)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> SampleStages:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.u16(),
            reader.u64(),
            reader.blob(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Window(Message):
    """What was recorded of one activation; its events come next. Times that were not seen are 0."""

    KIND: ClassVar[int] = 81
    cpu: int
    tid: int
    prio: int
    why: int
    activation: int
    due_ns: int
    run_ns: int
    timer_ns: int
    waking_ns: int
    switched_ns: int
    waking_cpu: int
    observed_ns: int
    events: int
    sums: tuple[int, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.cpu)
        writer.u32(self.tid)
        writer.u8(self.prio)
        writer.u8(self.why)
        writer.u64(self.activation)
        writer.u64(self.due_ns)
        writer.u64(self.run_ns)
        writer.u64(self.timer_ns)
        writer.u64(self.waking_ns)
        writer.u64(self.switched_ns)
        writer.u16(self.waking_cpu)
        writer.u64(self.observed_ns)
        writer.u32(self.events)
        writer.list_u64(self.sums)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Window:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.u32(),
            reader.u8(),
            reader.u8(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u16(),
            reader.u64(),
            reader.u32(),
            reader.list_u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Events(Message):
    """Events of the preceding window, in order; `data` as in probe/src/recorder/pack_events.h."""

    KIND: ClassVar[int] = 82
    cpu: int
    count: int
    data: bytes

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.cpu)
        writer.u16(self.count)
        writer.blob(self.data)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Events:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.u16(),
            reader.blob(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Name(Message):
    """What an id means. table: 1 name of a thread, 2 function or data, 3 interrupt, 4 pid."""

    KIND: ClassVar[int] = 83
    table: int
    id: int
    text: str

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u8(self.table)
        writer.u64(self.id)
        writer.text(self.text)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Name:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u8(),
            reader.u64(),
            reader.text(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class SampleThreads(Message):
    """Whose the activations of a block of samples are; `data` as in probe/src/app_samples.h."""

    KIND: ClassVar[int] = 85
    cpu: int
    count: int
    first: int
    data: bytes

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.cpu)
        writer.u16(self.count)
        writer.u64(self.first)
        writer.blob(self.data)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> SampleThreads:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.u16(),
            reader.u64(),
            reader.blob(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class AppEnded(Message):
    """The program that was started is over: what it exited with, or the signal that ended it."""

    KIND: ClassVar[int] = 86
    status: int
    signal: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u8(self.status)
        writer.u8(self.signal)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> AppEnded:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u8(),
            reader.u8(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class RecorderResult(Message):
    """What the recorder did, and what it cost. run_ns: 0 where the kernel does not tell."""

    KIND: ClassVar[int] = 84
    windows: int
    passed_over: int
    events: int
    missed: int
    runs: int
    run_ns: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u64(self.windows)
        writer.u64(self.passed_over)
        writer.u64(self.events)
        writer.u64(self.missed)
        writer.u64(self.runs)
        writer.u64(self.run_ns)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> RecorderResult:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Symbols(Message):
    """How functions in events came by their names. shown: the kernel says where they are."""

    KIND: ClassVar[int] = 88
    shown: int
    kptr_restrict: int
    lowered: int
    addresses: int
    named: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u8(self.shown)
        writer.i32(self.kptr_restrict)
        writer.u8(self.lowered)
        writer.u32(self.addresses)
        writer.u32(self.named)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Symbols:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u8(),
            reader.i32(),
            reader.u8(),
            reader.u32(),
            reader.u32(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class BuildId(Message):
    """Of which build the kernel is, or a module of which a function was named; module: its name."""

    KIND: ClassVar[int] = 89
    module: str
    id: bytes

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.text(self.module)
        writer.blob(self.id)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> BuildId:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.text(),
            reader.blob(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class RecorderCost(Message):
    """What recording cost as far as the board tells; comes before recorder_result."""

    KIND: ClassVar[int] = 87
    sampled_runs: int
    sampled_ns: int
    gather_ns: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u64(self.sampled_runs)
        writer.u64(self.sampled_ns)
        writer.u64(self.gather_ns)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> RecorderCost:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u64(),
            reader.u64(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Ack(Message):
    """All frames below `next` have arrived."""

    KIND: ClassVar[int] = 240
    next: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.next)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Ack:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Resend(Message):
    """These frames are missing. For a single one, `have` is the bitmap of its fragments at hand."""

    KIND: ClassVar[int] = 241
    first: int
    count: int
    have: bytes

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.first)
        writer.u16(self.count)
        writer.blob(self.have)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Resend:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u16(),
            reader.blob(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Fragment(Message):
    """A piece of a frame that was asked for again: small frames survive a bad line."""

    KIND: ClassVar[int] = 242
    number: int
    kind: int
    index: int
    total: int
    data: bytes

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.number)
        writer.u8(self.kind)
        writer.u16(self.index)
        writer.u16(self.total)
        writer.blob(self.data)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Fragment:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u8(),
            reader.u16(),
            reader.u16(),
            reader.blob(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Tail(Message):
    """The last number sent, when nothing follows it by which its loss would be noticed."""

    KIND: ClassVar[int] = 243
    last: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.last)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Tail:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Mark(Message):
    """Answered by marked with the same token, after everything that was asked for before it."""

    KIND: ClassVar[int] = 244
    token: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.token)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Mark:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class Marked(Message):
    """Everything that was asked for before that mark has been sent."""

    KIND: ClassVar[int] = 245
    token: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.token)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> Marked:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class SwitchRow(Message):
    """A block of a ring, and one of a task that passes the token to itself as often."""

    KIND: ClassVar[int] = 90
    trial: int
    repetition: int
    ring_ns: int
    own_ns: int
    hops: int
    switches: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.u16(self.repetition)
        writer.u64(self.ring_ns)
        writer.u64(self.own_ns)
        writer.u64(self.hops)
        writer.u64(self.switches)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> SwitchRow:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u16(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class SwitchFlushes(Message):
    """What was counted in a block of its own. error: the errno for which it was not; 0."""

    KIND: ClassVar[int] = 91
    trial: int
    hops: int
    switches: int
    flushes: int
    error: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.u64(self.hops)
        writer.u64(self.switches)
        writer.u64(self.flushes)
        writer.i32(self.error)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> SwitchFlushes:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.i32(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class MemoryRow(Message):
    """So many passes over the bytes of a trial; of latency, so many dependent reads."""

    KIND: ClassVar[int] = 92
    trial: int
    repetition: int
    ns: int
    passes: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.u16(self.repetition)
        writer.u64(self.ns)
        writer.u64(self.passes)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> MemoryRow:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u16(),
            reader.u64(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class MemoryBacking(Message):
    """What stands behind a buffer of a trial, before its first repetition and after its last."""

    KIND: ClassVar[int] = 93
    trial: int
    after: int
    target: int
    pages: int
    present: int
    frames: int
    huge_bytes: int
    hugetlb_bytes: int
    error: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.u8(self.after)
        writer.u8(self.target)
        writer.u64(self.pages)
        writer.u64(self.present)
        writer.u64(self.frames)
        writer.u64(self.huge_bytes)
        writer.u64(self.hugetlb_bytes)
        writer.i32(self.error)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> MemoryBacking:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u8(),
            reader.u8(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.i32(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class ClockNature(Message):
    """What reading a clock is. system_call: 0 none is made, 1 one is, 2 not known."""

    KIND: ClassVar[int] = 94
    trial: int
    system_call: int
    resolution_ns: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.u8(self.system_call)
        writer.u64(self.resolution_ns)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> ClockNature:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u8(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class ClockRow(Message):
    """What one thread did in a repetition: its calls, and then its comparisons with the others."""

    KIND: ClassVar[int] = 95
    trial: int
    repetition: int
    thread: int
    cpu: int
    ns: int
    calls: int
    checks: int
    backward: int
    most_backward_ns: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.u16(self.repetition)
        writer.u16(self.thread)
        writer.u16(self.cpu)
        writer.u64(self.ns)
        writer.u64(self.calls)
        writer.u64(self.checks)
        writer.u64(self.backward)
        writer.u64(self.most_backward_ns)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> ClockRow:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u16(),
            reader.u16(),
            reader.u16(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class CommandRow(Message):
    """How a command went. status: its exit status; signal: the one that ended it, or 0."""

    KIND: ClassVar[int] = 96
    trial: int
    wall_ns: int
    user_ns: int
    system_ns: int
    peak_memory: int
    status: int
    signal: int

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.u64(self.wall_ns)
        writer.u64(self.user_ns)
        writer.u64(self.system_ns)
        writer.u64(self.peak_memory)
        writer.u8(self.status)
        writer.u8(self.signal)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> CommandRow:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u64(),
            reader.u8(),
            reader.u8(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class CommandOutput(Message):
    """A piece of what a command wrote, in order. cut: what came before it was too much to keep."""

    KIND: ClassVar[int] = 97
    trial: int
    cut: int
    data: bytes

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.u8(self.cut)
        writer.blob(self.data)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> CommandOutput:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u8(),
            reader.blob(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class TrialCounts(Message):
    """What the counters counted in a repetition, in the order of the command counters."""

    KIND: ClassVar[int] = 98
    trial: int
    repetition: int
    values: tuple[int, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.u16(self.repetition)
        writer.list_u64(self.values)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> TrialCounts:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.u16(),
            reader.list_u64(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class TrialFailed(Message):
    """A trial could not be made, or not to its end. error: an errno; its command fails too."""

    KIND: ClassVar[int] = 99
    trial: int
    error: int
    text: str

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u32(self.trial)
        writer.i32(self.error)
        writer.text(self.text)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> TrialFailed:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u32(),
            reader.i32(),
            reader.text(),
        )
        reader.done()
        return message


@dataclass(frozen=True, slots=True)
class CpuEvents(Message):
    """What was counted of a CPU's measuring thread, in the order of the command counters."""

    KIND: ClassVar[int] = 100
    cpu: int
    values: tuple[int, ...]

    def pack(self) -> bytes:
        """Return the payload."""
        writer = Writer()
        writer.u16(self.cpu)
        writer.list_u64(self.values)
        return writer.done()

    @classmethod
    def unpack(cls, payload: bytes) -> CpuEvents:
        """Return the message in a payload; raises WireError."""
        reader = Reader(payload)
        message = cls(
            reader.u16(),
            reader.list_u64(),
        )
        reader.done()
        return message


AnyMessage = (
    Hello
    | Read
    | LoadStart
    | Setting
    | Wakeup
    | Stop
    | Frequency
    | Finish
    | Keepalive
    | Pause
    | Phase
    | Recorder
    | App
    | Counters
    | SwitchTrial
    | MemoryTrial
    | ClockTrial
    | CommandTrial
    | Account
    | Welcome
    | Done
    | Failed
    | File
    | CpuStarted
    | Samples
    | Progress
    | LoadWork
    | CpuResult
    | Result
    | CpuFrequency
    | Note
    | LoadStarted
    | CpuCounts
    | RecorderStarted
    | RecorderSource
    | SampleStages
    | Window
    | Events
    | Name
    | SampleThreads
    | AppEnded
    | RecorderResult
    | Symbols
    | BuildId
    | RecorderCost
    | Ack
    | Resend
    | Fragment
    | Tail
    | Mark
    | Marked
    | SwitchRow
    | SwitchFlushes
    | MemoryRow
    | MemoryBacking
    | ClockNature
    | ClockRow
    | CommandRow
    | CommandOutput
    | TrialCounts
    | TrialFailed
    | CpuEvents
)

UNPACK = {
    Hello.KIND: Hello.unpack,
    Read.KIND: Read.unpack,
    LoadStart.KIND: LoadStart.unpack,
    Setting.KIND: Setting.unpack,
    Wakeup.KIND: Wakeup.unpack,
    Stop.KIND: Stop.unpack,
    Frequency.KIND: Frequency.unpack,
    Finish.KIND: Finish.unpack,
    Keepalive.KIND: Keepalive.unpack,
    Pause.KIND: Pause.unpack,
    Phase.KIND: Phase.unpack,
    Recorder.KIND: Recorder.unpack,
    App.KIND: App.unpack,
    Counters.KIND: Counters.unpack,
    SwitchTrial.KIND: SwitchTrial.unpack,
    MemoryTrial.KIND: MemoryTrial.unpack,
    ClockTrial.KIND: ClockTrial.unpack,
    CommandTrial.KIND: CommandTrial.unpack,
    Account.KIND: Account.unpack,
    Welcome.KIND: Welcome.unpack,
    Done.KIND: Done.unpack,
    Failed.KIND: Failed.unpack,
    File.KIND: File.unpack,
    CpuStarted.KIND: CpuStarted.unpack,
    Samples.KIND: Samples.unpack,
    Progress.KIND: Progress.unpack,
    LoadWork.KIND: LoadWork.unpack,
    CpuResult.KIND: CpuResult.unpack,
    Result.KIND: Result.unpack,
    CpuFrequency.KIND: CpuFrequency.unpack,
    Note.KIND: Note.unpack,
    LoadStarted.KIND: LoadStarted.unpack,
    CpuCounts.KIND: CpuCounts.unpack,
    RecorderStarted.KIND: RecorderStarted.unpack,
    RecorderSource.KIND: RecorderSource.unpack,
    SampleStages.KIND: SampleStages.unpack,
    Window.KIND: Window.unpack,
    Events.KIND: Events.unpack,
    Name.KIND: Name.unpack,
    SampleThreads.KIND: SampleThreads.unpack,
    AppEnded.KIND: AppEnded.unpack,
    RecorderResult.KIND: RecorderResult.unpack,
    Symbols.KIND: Symbols.unpack,
    BuildId.KIND: BuildId.unpack,
    RecorderCost.KIND: RecorderCost.unpack,
    Ack.KIND: Ack.unpack,
    Resend.KIND: Resend.unpack,
    Fragment.KIND: Fragment.unpack,
    Tail.KIND: Tail.unpack,
    Mark.KIND: Mark.unpack,
    Marked.KIND: Marked.unpack,
    SwitchRow.KIND: SwitchRow.unpack,
    SwitchFlushes.KIND: SwitchFlushes.unpack,
    MemoryRow.KIND: MemoryRow.unpack,
    MemoryBacking.KIND: MemoryBacking.unpack,
    ClockNature.KIND: ClockNature.unpack,
    ClockRow.KIND: ClockRow.unpack,
    CommandRow.KIND: CommandRow.unpack,
    CommandOutput.KIND: CommandOutput.unpack,
    TrialCounts.KIND: TrialCounts.unpack,
    TrialFailed.KIND: TrialFailed.unpack,
    CpuEvents.KIND: CpuEvents.unpack,
}
