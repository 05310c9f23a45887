"""Limits, enumerations, loads and blocks of the wire.

Written by tools/wiregen.py from schema/wire.toml. Do not edit.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

#: The shortest interval of the wakeup workload.
LEAST_INTERVAL_NS = 50_000
#: The longest interval of the wakeup workload.
LONGEST_INTERVAL_NS = 10_000_000_000
#: The longest workload with activations: 30 days.
LONGEST_RUN_NS = 2_592_000_000_000_000
#: The latest time of a board's clock, and the longest time: 146 years.
LATEST_NS = 4_611_686_018_427_387_903
#: The latest that a wakeup workload may begin.
LONGEST_PHASE_NS = 10_000_000_000
#: CPUs of a workload.
MOST_CPUS = 1_024
#: The highest number of a CPU.
HIGHEST_CPU = 8_191
#: Loads at a time.
MOST_LOADS = 64
#: Instances of all loads together.
MOST_LOAD_INSTANCES = 256
#: Words of a command.
MOST_WORDS = 64
#: Bytes of a command, with a NUL behind each word: it travels in one message.
MOST_COMMAND_BYTES = 4_000
#: Bytes of a thread's name.
LONGEST_COMM = 15
#: Bytes of the path of a file that is put or read.
LONGEST_PATH = 399
#: The limit of one read.
MOST_READ_BYTES = 1_048_576
#: Bytes of a file that is put.
LARGEST_PUT = 1_073_741_824
#: Events that are counted at a time.
MOST_COUNTERS = 16
#: Functions and tracepoints that are counted at a time.
MOST_HITS = 8
#: Bytes of the name of a function or a tracepoint.
LONGEST_HIT = 127
#: The highest SCHED_FIFO priority.
HIGHEST_PRIORITY = 99
#: The longest pause.
LONGEST_PAUSE_MS = 60_000
#: The longest silence of a host after which the probe ends.
LONGEST_KEEPALIVE_MS = 3_600_000
#: Bytes of the recorder's ring of one CPU.
LARGEST_RING_BYTES = 1_073_741_824
#: Repetitions of a turn of a benchmark.
MOST_REPETITIONS = 1_000
#: Turns of a benchmark: 200 points in 1000 rounds.
MOST_TURNS = 200_000
#: The longest block of a benchmark, and the longest service of an emulated device.
LONGEST_BLOCK_NS = 60_000_000_000
#: The longest block of real-time tasks: where they are not throttled, no other task runs in it.
LONGEST_REALTIME_BLOCK_NS = 1_000_000_000
#: Tasks of a ring.
MOST_TASKS = 4_096
#: Lines of the cache that are cleaned in bulk.
MOST_BULK_LINES = 1_048_576
#: Pages whose translations are flushed at a time.
MOST_FLUSH_PAGES = 4_096
#: Bytes that a victim of flushes reads: 1 GiB.
LARGEST_FLUSH_SET = 1_073_741_824
#: Bytes of the trace of switches that a turn sends.
MOST_TRACE_BYTES = 1_048_576
#: Threads that read a clock.
MOST_CLOCK_THREADS = 1_024
#: Bytes of a buffer.
SMALLEST_BUFFER = 4_096
#: Bytes of a buffer: 64 TiB.
LARGEST_BUFFER = 70_368_744_177_664
#: Bytes of the working set of a task: 1 TiB.
LARGEST_SET = 1_099_511_627_776
#: Bytes that are kept of the output of a measured command: its end.
KEPT_OUTPUT = 65_536
#: The largest tail of which windows are recorded, in millionths.
MOST_TAIL_PPM = 500_000
#: Late executions of a section whose windows are recorded in a second.
LATE_PER_S = 50
#: Blocks of a workload in which the recorder is detached.
MOST_DETACHED = 1_024
#: A stage that takes longer gets a stack; or half the threshold, where that is less.
STACK_AFTER_NS = 20_000
#: The kernel gives no process a larger number (PID_MAX_LIMIT).
HIGHEST_PID = 4_194_304
#: Groups of waits that are alike.
MOST_WAIT_GROUPS = 256
#: Bins of waits, 16 an octave; the last ends at 2^52 ns, beyond the longest run.
WAIT_BINS = 784
#: Waits of a group: one a nanosecond for 11 days.
MOST_WAITS = 1_000_000_000_000_000
#: Bytes of what a section begins or ends at.
LONGEST_PLACE = 1_023
#: Names of a kind that are listed at a time.
MOST_LISTED = 300
#: Bytes of a pattern of names.
LONGEST_PATTERN = 255
#: Groups of waits for locks that have the same callers.
MOST_LOCK_GROUPS = 256
#: Groups of executions that ended with the same callers.
MOST_PATH_GROUPS = 512
#: Conditions on the beginning of a section.
MOST_CONDITIONS = 4
#: Reads before an execution of an experiment: 8 MiB in lines of 64 bytes.
MOST_TREATMENT_READS = 131_072
#: Events that are counted in each stretch with interrupts or preemption disabled.
MOST_OFF_COUNTS = 4
#: Events that are counted of each execution of a section.
MOST_EXECUTION_COUNTS = 4
#: Of so many executions of a section at most one is drawn.
MOST_ONE_IN = 16_777_216
#: The shortest period of sampling: the kernel's timer for it has no shorter one.
SHORTEST_SAMPLING_NS = 10_000
#: The longest period of sampling.
LONGEST_SAMPLING_NS = 10_000_000
#: Groups of samples with interrupts or preemption disabled that have the same callers.
MOST_OFF_GROUPS = 1_024
#: Longest stretches with interrupts or preemption disabled that are sent with their callers.
MOST_OFF_LONGEST = 64
#: A stage of an activation that was not seen.
NOT_SEEN = -2_147_483_648


class ReadMethod(IntEnum):
    """What to read: the first bytes of a file, a link's target, a directory's names, or the log."""

    FILE = 0
    LINK = 1
    LIST = 2
    KERNEL_LOG = 3


class EngineChoice(IntEnum):
    """Which engine records: the best there is, or that one."""

    BEST = 0
    BPF = 1
    TRACEFS = 2


class WindowReason(IntEnum):
    """Why a window is sent: drawn at random as control, late, or it ended the workload."""

    CONTROL = 0
    LATE = 1
    STOP = 2


class NameTable(IntEnum):
    """What an id names: a thread's name, a function, data, an interrupt, a thread's pid, a task."""

    THREAD = 1
    FUNCTION = 2
    INTERRUPT = 3
    PID = 4
    TASK = 5


class SectionKind(IntEnum):
    """What a section is: a function of the kernel, a pair of tracepoints, or user code."""

    FUNCTION = 0
    TRACEPOINTS = 1
    USER = 2


class SectionKey(IntEnum):
    """What pairs the beginning of a section with its end."""

    THREAD = 0
    CPU = 1
    ARGUMENT = 2


class SectionHook(IntEnum):
    """What runs where a section begins and ends: the best there is, or that one."""

    BEST = 0
    FENTRY = 1
    KPROBE = 2
    TRACEPOINT = 3
    UPROBE = 4
    KPROBE_EVENT = 5
    TRACE_EVENT = 6
    KPROBE_SESSION = 7
    KPROBE_MULTI = 8


class OffWhat(IntEnum):
    """What is disabled in a stretch: interrupts, or preemption."""

    INTERRUPTS = 0
    PREEMPTION = 1


class OffMethod(IntEnum):
    """How it is known what is disabled: by the kernel's tracepoints, or by samples."""

    BEST = 0
    SAMPLED = 1
    TRACEPOINTS = 2


class OffClass(IntEnum):
    """What a sample shows: disabled, by a thread or by a handler; or that it came late."""

    DISABLED = 0
    HANDLER = 1
    USER = 2
    UNKNOWN = 3


class SectionGroups(IntEnum):
    """What is kept in groups by callers: waits for locks, call paths, and samples."""

    LOCKS = 1
    PATHS = 2
    SAMPLES = 4


class SectionTreatment(IntEnum):
    """What precedes treated executions: reading their code or memory, flushing it, a walk."""

    NONE = 0
    PREFETCH = 1
    COLD = 2
    FLUSH = 3
    CODE = 4
    TLB = 5


class ListedKind(IntEnum):
    """What a listed name is of; user: a function of a file."""

    FUNCTION = 0
    TRACEPOINT = 1
    USER = 2
    USDT = 3


class Obstacle(IntEnum):
    """Why no hook can be set at a listed name."""

    NONE = 0
    NOTRACE = 1
    FORBIDDEN = 2
    BOOT = 3
    FRAGMENT = 4
    NO_TRACEPOINT = 5
    CHOSEN_AT_START = 6
    SEVERAL = 7
    THUMB = 8
    NO_CODE = 9


class ListingLack(IntFlag):
    """What a board, or a file, does not say of the names that are listed: bits."""

    SYMBOLS = 1
    TYPES = 2
    TRACEABLE = 4
    FORBIDDEN = 8
    SYMBOL_TABLE = 16
    RETURNS = 32


class ExecutionFlag(IntFlag):
    """Of an execution that is kept: drawn, not only for its duration; ended on another CPU; arm."""

    DRAWN = 1
    MOVED = 2
    TREATED = 4
    PLACEBO = 8


class CountState(IntEnum):
    """Counts of an execution: its own, refused, or those of other threads too."""

    OWN = 0
    REFUSED = 1
    SHARED = 2


class ExecutionPart(IntFlag):
    """What is observed of a thread in a section: interrupts, switches, locks, and more."""

    INTERRUPTED = 1
    SWITCHED = 2
    LOCK = 4
    FAULT = 8
    FAULT_TIME = 16
    STEAL = 32
    SAMPLE = 64


class LoadState(IntEnum):
    """A load: not started, working, stopped by an error, or a command that ended by itself."""

    IDLE = 0
    RUNNING = 1
    FAILED = 2
    ENDED = 3


class OutputStream(IntEnum):
    """Where a command wrote."""

    STDOUT = 1
    STDERR = 2


class ChannelKind(IntEnum):
    """What passes the token of a ring."""

    PIPE = 0
    EVENTFD = 1
    FUTEX = 2
    SOCKETPAIR = 3


class MemoryOperation(IntEnum):
    """What is done to memory; latency: of reads that each need the result of the preceding read."""

    COPY = 0
    SET = 1
    READ = 2
    LATENCY = 3


class BufferContent(IntEnum):
    """What a buffer was filled with before."""

    UNTOUCHED = 0
    ZEROS = 1
    RANDOM = 2


class BufferPages(IntEnum):
    """Pages behind a buffer: small, transparent huge, of hugetlbfs, as the system is set."""

    SMALL = 0
    THP = 1
    HUGETLB = 2
    AS_SET = 3


class MemoryRoutine(IntEnum):
    """Who does it: the C library, or a plain loop."""

    LIBC = 0
    PLAIN = 1


class ClockMethod(IntEnum):
    """How a clock is read: C library, system call, /dev/hpet mapped, emulated device."""

    LIBC = 0
    SYSCALL = 1
    HPET = 2
    DEVICE = 3


class ClockCalls(IntEnum):
    """Whether reading a clock makes a system call."""

    NONE = 0
    MADE = 1
    UNKNOWN = 2


class ClockForm(IntEnum):
    """How a clock is read: a form of remedies/shared_read.h, or under a mutex."""

    DIRECT = 0
    RELAXED = 1
    STRICT = 2
    LOCKED = 3


class FlushOperation(IntEnum):
    """The system call that makes translations invalid."""

    MUNMAP = 0
    MPROTECT = 1


class CounterMode(IntFlag):
    """Where a counter does not count: bits."""

    NOT_KERNEL = 1
    NOT_USER = 2
    NOT_HYPERVISOR = 4


class RecorderVector(IntEnum):
    """Interrupts that are no device's."""

    OTHER = 0
    LOCAL_TIMER = 1
    RESCHEDULE = 2
    CALL_FUNCTION = 3
    CALL_FUNCTION_SINGLE = 4
    IRQ_WORK = 5
    THERMAL = 6
    DEFERRED_ERROR = 7
    THRESHOLD = 8
    ERROR = 9
    SPURIOUS = 10
    PLATFORM_IPI = 11
    CPU_STOP = 12
    TIMER_BROADCAST = 13


class MaximumKind(IntEnum):
    """Of what maxima are: an interrupt that is no device's, a softirq, a device; others."""

    VECTOR = 0
    SOFTIRQ = 1
    DEVICE = 2
    OTHERS = 3


class RecorderStack(IntFlag):
    """A stack of what a late timer interrupt interrupted, or of what ran before a switch."""

    TIMER = 1
    SWITCH = 2
    OF_USER = 128


class SwitchState(IntFlag):
    """Why a thread left the CPU: it was preempted, or the low bits of its task_struct.__state."""

    PREEMPTED = 128
    STATE = 127


class RecorderOrigin(IntEnum):
    """What made a thread due: an hrtimer, another interrupt, a softirq, a thread."""

    TIMER = 1
    INTERRUPT = 2
    SOFTIRQ = 3
    THREAD = 4


class RecorderSum(IntEnum):
    """Time on a CPU by where it went; steal is part of the others too."""

    IRQ = 0
    SOFTIRQ = 1
    NMI = 2
    IDLE = 3
    THREAD = 4
    STEAL = 5


class EventKind(IntEnum):
    """What an event of the recorder is."""

    #: A device interrupt begins.
    IRQ_ENTRY = 1
    #: It ends.
    IRQ_EXIT = 2
    #: Another interrupt begins.
    VECTOR_ENTRY = 3
    #: It ends.
    VECTOR_EXIT = 4
    #: A softirq is raised.
    SOFTIRQ_RAISE = 5
    #: It begins.
    SOFTIRQ_ENTRY = 6
    #: It ends.
    SOFTIRQ_EXIT = 7
    #: A handler of NMIs, at its end.
    NMI = 8
    #: A function of an hrtimer, f, begins.
    TIMER_ENTRY = 9
    #: It ends.
    TIMER_EXIT = 10
    #: A thread is woken; on the waking CPU.
    WAKING = 11
    #: A switch of threads; e and f: comm of next.
    SWITCH = 12
    #: A thread is moved.
    MIGRATE = 13
    #: Waiting for a lock.
    LOCK_BEGIN = 14
    #: The lock was had.
    LOCK_END = 15
    #: An idle state is entered.
    IDLE_ENTRY = 16
    #: It is left.
    IDLE_EXIT = 17
    #: An interrupt is sent to another CPU; e: of the callback or caller.
    IPI_SEND = 18
    #: A page fault of user code.
    FAULT = 19
    #: The hypervisor took time.
    STEAL = 20
    #: A stack; e: the instruction that was interrupted, 0: not known.
    STACK = 21
    #: The next two frames of a stack, innermost first.
    FRAMES = 22
    #: A function that another CPU called begins.
    CALL_ENTRY = 23
    #: It ends.
    CALL_EXIT = 24
    #: An hrtimer is started.
    TIMER_START = 25
    #: A deferred function, e, begins: of a timer_list timer, a work item or a tasklet, f.
    DEFERRED_ENTRY = 26
    #: It ends.
    DEFERRED_EXIT = 27
    #: A thread inherits a priority or loses it; or that of the measured thread has changed.
    PRIO = 28
    #: A callback of RCU, at its end, where it took more than 2 us.
    CALLBACK = 29
    #: A function of others at a tracepoint, or a notifier, at its end, above 2 us.
    HOOK = 30


#: Kinds of loads: what their work is counted in, and what they do.
LOADS = {
    "memory": ("bytes", "copies memory far beyond the caches"),
    "code": ("calls", "runs through code far beyond the instruction cache"),
    "tlb": ("pages", "reads far more pages than a TLB has translations for, and hardly any data"),
    "switch": ("switches", "many threads hand tokens round a ring"),
    "net": ("bytes", "TCP streams and small TCP and UDP packets over loopback"),
    "fork": ("forks", "short-lived processes, one after another"),
    "mmap": ("operations", "maps, protects and unmaps memory on several CPUs"),
    "timer": ("expirations", "thousands of timer interrupts a second on every CPU"),
    "disk": ("bytes", "writes a temporary file and waits until the disk has it"),
    "nic": ("bytes", "packets to and from another machine, by the board's network interface"),
    "block": ("bytes", "reads of a disk past the page cache"),
    "cmd": ("CPU ms", "runs a command of your own"),
}
#: Columns of blocks of numbers and how each is encoded (whylate.wire.blocks).
BLOCKS = {
    "samples": ("step",),
    "stages": (
        "maybe",
        "maybe",
        "maybe",
    ),
    "threads": (
        "plain",
        "step",
        "plain",
    ),
    "waits": (
        "step",
        "plain",
    ),
    "executions": (
        "step",
        "plain",
        "plain",
        "plain",
        "plain",
        "plain",
        "plain",
        "plain",
        "plain",
        "plain",
        "plain",
        "plain",
        "plain",
    ),
    "execution_counts": (
        "plain",
        "plain",
        "plain",
        "plain",
        "plain",
    ),
    "off_stretches": (
        "step",
        "plain",
        "plain",
        "plain",
        "plain",
        "plain",
    ),
}
