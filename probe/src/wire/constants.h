/* SPDX-License-Identifier: MIT */
/* Written by tools/wiregen.py from schema/wire.toml. Do not edit. */
#ifndef WHYLATE_WIRE_CONSTANTS_H
#define WHYLATE_WIRE_CONSTANTS_H

#define WIRE_PROTOCOL	   1
#define WIRE_MAX_PAYLOAD   4096
#define WIRE_FRAGMENT_SIZE 40
/* Kinds below FIRST_ANSWER are the host's commands, from FIRST_CONTROL on the link's. */
#define WIRE_FIRST_ANSWER  64
#define WIRE_FIRST_CONTROL 240

/* The shortest interval of the wakeup workload. */
#define WIRE_LEAST_INTERVAL_NS 50000u
/* The longest interval of the wakeup workload. */
#define WIRE_LONGEST_INTERVAL_NS 10000000000ull
/* The longest workload with activations: 30 days. */
#define WIRE_LONGEST_RUN_NS 2592000000000000ull
/* The latest time of a board's clock, and the longest time: 146 years. */
#define WIRE_LATEST_NS 4611686018427387903ull
/* The latest that a wakeup workload may begin. */
#define WIRE_LONGEST_PHASE_NS 10000000000ull
/* CPUs of a workload. */
#define WIRE_MOST_CPUS 1024u
/* The highest number of a CPU. */
#define WIRE_HIGHEST_CPU 8191u
/* Loads at a time. */
#define WIRE_MOST_LOADS 64u
/* Instances of all loads together. */
#define WIRE_MOST_LOAD_INSTANCES 256u
/* Words of a command. */
#define WIRE_MOST_WORDS 64u
/* Bytes of a command, with a NUL behind each word: it travels in one message. */
#define WIRE_MOST_COMMAND_BYTES 4000u
/* Bytes of a thread's name. */
#define WIRE_LONGEST_COMM 15u
/* Bytes of the path of a file that is put or read. */
#define WIRE_LONGEST_PATH 399u
/* The limit of one read. */
#define WIRE_MOST_READ_BYTES 1048576u
/* Bytes of a file that is put. */
#define WIRE_LARGEST_PUT 1073741824u
/* Events that are counted at a time. */
#define WIRE_MOST_COUNTERS 16u
/* Functions and tracepoints that are counted at a time. */
#define WIRE_MOST_HITS 8u
/* Bytes of the name of a function or a tracepoint. */
#define WIRE_LONGEST_HIT 127u
/* The highest SCHED_FIFO priority. */
#define WIRE_HIGHEST_PRIORITY 99u
/* The longest pause. */
#define WIRE_LONGEST_PAUSE_MS 60000u
/* The longest silence of a host after which the probe ends. */
#define WIRE_LONGEST_KEEPALIVE_MS 3600000u
/* Bytes of the recorder's ring of one CPU. */
#define WIRE_LARGEST_RING_BYTES 1073741824u
/* Repetitions of a turn of a benchmark. */
#define WIRE_MOST_REPETITIONS 1000u
/* Turns of a benchmark: 200 points in 1000 rounds. */
#define WIRE_MOST_TURNS 200000u
/* The longest block of a benchmark, and the longest service of an emulated device. */
#define WIRE_LONGEST_BLOCK_NS 60000000000ull
/* The longest block of real-time tasks: where they are not throttled, no other task runs in it. */
#define WIRE_LONGEST_REALTIME_BLOCK_NS 1000000000u
/* Tasks of a ring. */
#define WIRE_MOST_TASKS 4096u
/* Lines of the cache that are cleaned in bulk. */
#define WIRE_MOST_BULK_LINES 1048576u
/* Pages whose translations are flushed at a time. */
#define WIRE_MOST_FLUSH_PAGES 4096u
/* Bytes that a victim of flushes reads: 1 GiB. */
#define WIRE_LARGEST_FLUSH_SET 1073741824u
/* Bytes of the trace of switches that a turn sends. */
#define WIRE_MOST_TRACE_BYTES 1048576u
/* Threads that read a clock. */
#define WIRE_MOST_CLOCK_THREADS 1024u
/* Bytes of a buffer. */
#define WIRE_SMALLEST_BUFFER 4096u
/* Bytes of a buffer: 64 TiB. */
#define WIRE_LARGEST_BUFFER 70368744177664ull
/* Bytes of the working set of a task: 1 TiB. */
#define WIRE_LARGEST_SET 1099511627776ull
/* Bytes that are kept of the output of a measured command: its end. */
#define WIRE_KEPT_OUTPUT 65536u
/* The largest tail of which windows are recorded, in millionths. */
#define WIRE_MOST_TAIL_PPM 500000u
/* Late executions of a section whose windows are recorded in a second. */
#define WIRE_LATE_PER_S 50u
/* Blocks of a workload in which the recorder is detached. */
#define WIRE_MOST_DETACHED 1024u
/* A stage that takes longer gets a stack; or half the threshold, where that is less. */
#define WIRE_STACK_AFTER_NS 20000u
/* The kernel gives no process a larger number (PID_MAX_LIMIT). */
#define WIRE_HIGHEST_PID 4194304u
/* Groups of waits that are alike. */
#define WIRE_MOST_WAIT_GROUPS 256u
/* Bins of waits, 16 an octave; the last ends at 2^52 ns, beyond the longest run. */
#define WIRE_WAIT_BINS 784u
/* Waits of a group: one a nanosecond for 11 days. */
#define WIRE_MOST_WAITS 1000000000000000ull
/* Bytes of what a section begins or ends at. */
#define WIRE_LONGEST_PLACE 1023u
/* Names of a kind that are listed at a time. */
#define WIRE_MOST_LISTED 300u
/* Bytes of a pattern of names. */
#define WIRE_LONGEST_PATTERN 255u
/* Groups of waits for locks that have the same callers. */
#define WIRE_MOST_LOCK_GROUPS 256u
/* Groups of executions that ended with the same callers. */
#define WIRE_MOST_PATH_GROUPS 512u
/* Conditions on the beginning of a section. */
#define WIRE_MOST_CONDITIONS 4u
/* Reads before an execution of an experiment: 8 MiB in lines of 64 bytes. */
#define WIRE_MOST_TREATMENT_READS 131072u
/* Events that are counted in each stretch with interrupts or preemption disabled. */
#define WIRE_MOST_OFF_COUNTS 4u
/* Events that are counted of each execution of a section. */
#define WIRE_MOST_EXECUTION_COUNTS 4u
/* Of so many executions of a section at most one is drawn. */
#define WIRE_MOST_ONE_IN 16777216u
/* The shortest period of sampling: the kernel's timer for it has no shorter one. */
#define WIRE_SHORTEST_SAMPLING_NS 10000u
/* The longest period of sampling. */
#define WIRE_LONGEST_SAMPLING_NS 10000000u
/* Groups of samples with interrupts or preemption disabled that have the same callers. */
#define WIRE_MOST_OFF_GROUPS 1024u
/* Longest stretches with interrupts or preemption disabled that are sent with their callers. */
#define WIRE_MOST_OFF_LONGEST 64u
/* A stage of an activation that was not seen. */
#define WIRE_NOT_SEEN (-2147483647 - 1)

/* What to read: the first bytes of a file, a link's target, a directory's names, or the log. */
enum read_method {
	FILES_FILE = 0,
	FILES_LINK = 1,
	FILES_LIST = 2,
	FILES_KERNEL_LOG = 3,
	FILES_COUNT = 4,
};

/* Which engine records: the best there is, or that one. */
enum engine_choice {
	ENGINE_BEST = 0,
	ENGINE_BPF = 1,
	ENGINE_TRACEFS = 2,
	ENGINE_COUNT = 3,
};

/* Why a window is sent: drawn at random as control, late, or it ended the workload. */
enum window_reason {
	REASON_CONTROL = 0,
	REASON_LATE = 1,
	REASON_STOP = 2,
	REASON_COUNT = 3,
};

/* What an id names: a thread's name, a function, data, an interrupt, a thread's pid, a task. */
enum name_table {
	NAMES_THREAD = 1,
	NAMES_FUNCTION = 2,
	NAMES_INTERRUPT = 3,
	NAMES_PID = 4,
	NAMES_TASK = 5,
	NAMES_COUNT = 6,
};

/* What a section is: a function of the kernel, a pair of tracepoints, or user code. */
enum section_kind {
	SECTION_FUNCTION = 0,
	SECTION_TRACEPOINTS = 1,
	SECTION_USER = 2,
	SECTION_COUNT = 3,
};

/* What pairs the beginning of a section with its end. */
enum section_key {
	PAIRED_BY_THREAD = 0,
	PAIRED_BY_CPU = 1,
	PAIRED_BY_ARGUMENT = 2,
	PAIRED_BY_COUNT = 3,
};

/* What runs where a section begins and ends: the best there is, or that one. */
enum section_hook {
	HOOK_BEST = 0,
	HOOK_FENTRY = 1,
	HOOK_KPROBE = 2,
	HOOK_TRACEPOINT = 3,
	HOOK_UPROBE = 4,
	HOOK_KPROBE_EVENT = 5,
	HOOK_TRACE_EVENT = 6,
	HOOK_KPROBE_SESSION = 7,
	HOOK_KPROBE_MULTI = 8,
	HOOK_COUNT = 9,
};

/* What is disabled in a stretch: interrupts, or preemption. */
enum off_what {
	OFF_INTERRUPTS = 0,
	OFF_PREEMPTION = 1,
	OFF_COUNT = 2,
};

/* How it is known what is disabled: by the kernel's tracepoints, or by samples. */
enum off_method {
	OFF_METHOD_BEST = 0,
	OFF_METHOD_SAMPLED = 1,
	OFF_METHOD_TRACEPOINTS = 2,
	OFF_METHOD_COUNT = 3,
};

/* What a sample shows: disabled, by a thread or by a handler; or that it came late. */
enum off_class {
	OFF_CLASS_DISABLED = 0,
	OFF_CLASS_HANDLER = 1,
	OFF_CLASS_USER = 2,
	OFF_CLASS_UNKNOWN = 3,
	OFF_CLASS_COUNT = 4,
};

/* What is kept in groups by callers: waits for locks, call paths, and samples. */
enum section_groups {
	GROUPS_LOCKS = 1,
	GROUPS_PATHS = 2,
	GROUPS_SAMPLES = 4,
	GROUPS_COUNT = 5,
};

/* What precedes treated executions: reading their code or memory, flushing it, a walk. */
enum section_treatment {
	TREATMENT_NONE = 0,
	TREATMENT_PREFETCH = 1,
	TREATMENT_COLD = 2,
	TREATMENT_FLUSH = 3,
	TREATMENT_CODE = 4,
	TREATMENT_TLB = 5,
	TREATMENT_COUNT = 6,
};

/* What a listed name is of; user: a function of a file. */
enum listed_kind {
	LISTED_FUNCTION = 0,
	LISTED_TRACEPOINT = 1,
	LISTED_USER = 2,
	LISTED_USDT = 3,
	LISTED_COUNT = 4,
};

/* Why no hook can be set at a listed name. */
enum obstacle {
	OBSTACLE_NONE = 0,
	OBSTACLE_NOTRACE = 1,
	OBSTACLE_FORBIDDEN = 2,
	OBSTACLE_BOOT = 3,
	OBSTACLE_FRAGMENT = 4,
	OBSTACLE_NO_TRACEPOINT = 5,
	OBSTACLE_CHOSEN_AT_START = 6,
	OBSTACLE_SEVERAL = 7,
	OBSTACLE_THUMB = 8,
	OBSTACLE_NO_CODE = 9,
	OBSTACLE_COUNT = 10,
};

/* What a board, or a file, does not say of the names that are listed: bits. */
enum listing_lack {
	LACKS_SYMBOLS = 1,
	LACKS_TYPES = 2,
	LACKS_TRACEABLE = 4,
	LACKS_FORBIDDEN = 8,
	LACKS_SYMBOL_TABLE = 16,
	LACKS_RETURNS = 32,
	LACKS_COUNT = 33,
};

/* Of an execution that is kept: drawn, not only for its duration; ended on another CPU; arm. */
enum execution_flag {
	EXECUTION_DRAWN = 1,
	EXECUTION_MOVED = 2,
	EXECUTION_TREATED = 4,
	EXECUTION_PLACEBO = 8,
	EXECUTION_COUNT = 9,
};

/* Counts of an execution: its own, refused, or those of other threads too. */
enum count_state {
	COUNTS_OWN = 0,
	COUNTS_REFUSED = 1,
	COUNTS_SHARED = 2,
	COUNTS_COUNT = 3,
};

/* What is observed of a thread in a section: interrupts, switches, locks, and more. */
enum execution_part {
	PART_INTERRUPTED = 1,
	PART_SWITCHED = 2,
	PART_LOCK = 4,
	PART_FAULT = 8,
	PART_FAULT_TIME = 16,
	PART_STEAL = 32,
	PART_SAMPLE = 64,
	PART_COUNT = 65,
};

/* A load: not started, working, stopped by an error, or a command that ended by itself. */
enum load_state {
	LOAD_IDLE = 0,
	LOAD_RUNNING = 1,
	LOAD_FAILED = 2,
	LOAD_ENDED = 3,
	LOAD_COUNT = 4,
};

/* Where a command wrote. */
enum output_stream {
	STREAM_STDOUT = 1,
	STREAM_STDERR = 2,
	STREAM_COUNT = 3,
};

/* What passes the token of a ring. */
enum channel_kind {
	BY_PIPE = 0,
	BY_EVENTFD = 1,
	BY_FUTEX = 2,
	BY_SOCKETPAIR = 3,
	BY_COUNT = 4,
};

/* What is done to memory; latency: of reads that each need the result of the preceding read. */
enum memory_operation {
	MEMORY_COPY = 0,
	MEMORY_SET = 1,
	MEMORY_READ = 2,
	MEMORY_LATENCY = 3,
	MEMORY_COUNT = 4,
};

/* What a buffer was filled with before. */
enum buffer_content {
	CONTENT_UNTOUCHED = 0,
	CONTENT_ZEROS = 1,
	CONTENT_RANDOM = 2,
	CONTENT_COUNT = 3,
};

/* Pages behind a buffer: small, transparent huge, of hugetlbfs, as the system is set. */
enum buffer_pages {
	PAGES_SMALL = 0,
	PAGES_THP = 1,
	PAGES_HUGETLB = 2,
	PAGES_AS_SET = 3,
	PAGES_COUNT = 4,
};

/* Who does it: the C library, or a plain loop. */
enum memory_routine {
	ROUTINE_LIBC = 0,
	ROUTINE_PLAIN = 1,
	ROUTINE_COUNT = 2,
};

/* How a clock is read: C library, system call, /dev/hpet mapped, emulated device. */
enum clock_method {
	CLOCK_BY_LIBC = 0,
	CLOCK_BY_SYSCALL = 1,
	CLOCK_BY_HPET = 2,
	CLOCK_BY_DEVICE = 3,
	CLOCK_BY_COUNT = 4,
};

/* Whether reading a clock makes a system call. */
enum clock_calls {
	CALLS_NONE = 0,
	CALLS_MADE = 1,
	CALLS_UNKNOWN = 2,
	CALLS_COUNT = 3,
};

/* How a clock is read: a form of remedies/shared_read.h, or under a mutex. */
enum clock_form {
	FORM_DIRECT = 0,
	FORM_RELAXED = 1,
	FORM_STRICT = 2,
	FORM_LOCKED = 3,
	FORM_COUNT = 4,
};

/* The system call that makes translations invalid. */
enum flush_operation {
	FLUSH_BY_MUNMAP = 0,
	FLUSH_BY_MPROTECT = 1,
	FLUSH_BY_COUNT = 2,
};

/* Where a counter does not count: bits. */
enum counter_mode {
	COUNTER_NOT_KERNEL = 1,
	COUNTER_NOT_USER = 2,
	COUNTER_NOT_HYPERVISOR = 4,
	COUNTER_COUNT = 5,
};

/* Interrupts that are no device's. */
enum recorder_vector {
	VECTOR_OTHER = 0,
	VECTOR_LOCAL_TIMER = 1,
	VECTOR_RESCHEDULE = 2,
	VECTOR_CALL_FUNCTION = 3,
	VECTOR_CALL_FUNCTION_SINGLE = 4,
	VECTOR_IRQ_WORK = 5,
	VECTOR_THERMAL = 6,
	VECTOR_DEFERRED_ERROR = 7,
	VECTOR_THRESHOLD = 8,
	VECTOR_ERROR = 9,
	VECTOR_SPURIOUS = 10,
	VECTOR_PLATFORM_IPI = 11,
	VECTOR_CPU_STOP = 12,
	VECTOR_TIMER_BROADCAST = 13,
	VECTOR_COUNT = 14,
};

/* Of what maxima are: an interrupt that is no device's, a softirq, a device; others. */
enum maximum_kind {
	MAXIMUM_VECTOR = 0,
	MAXIMUM_SOFTIRQ = 1,
	MAXIMUM_DEVICE = 2,
	MAXIMUM_OTHERS = 3,
	MAXIMUM_COUNT = 4,
};

/* A stack of what a late timer interrupt interrupted, or of what ran before a switch. */
enum recorder_stack {
	STACK_TIMER = 1,
	STACK_SWITCH = 2,
	STACK_OF_USER = 128,
	STACK_COUNT = 129,
};

/* Why a thread left the CPU: it was preempted, or the low bits of its task_struct.__state. */
enum switch_state {
	SWITCH_PREEMPTED = 128,
	SWITCH_STATE = 127,
	SWITCH_COUNT = 129,
};

/* What made a thread due: an hrtimer, another interrupt, a softirq, a thread. */
enum recorder_origin {
	ORIGIN_TIMER = 1,
	ORIGIN_INTERRUPT = 2,
	ORIGIN_SOFTIRQ = 3,
	ORIGIN_THREAD = 4,
	ORIGIN_COUNT = 5,
};

/* Time on a CPU by where it went; steal is part of the others too. */
enum recorder_sum {
	SUM_IRQ = 0,
	SUM_SOFTIRQ = 1,
	SUM_NMI = 2,
	SUM_IDLE = 3,
	SUM_THREAD = 4,
	SUM_STEAL = 5,
	SUM_COUNT = 6,
};

/* Kinds of events. */
enum recorder_kind {
	EVENT_IRQ_ENTRY = 1,
	EVENT_IRQ_EXIT = 2,
	EVENT_VECTOR_ENTRY = 3,
	EVENT_VECTOR_EXIT = 4,
	EVENT_SOFTIRQ_RAISE = 5,
	EVENT_SOFTIRQ_ENTRY = 6,
	EVENT_SOFTIRQ_EXIT = 7,
	EVENT_NMI = 8,
	EVENT_TIMER_ENTRY = 9,
	EVENT_TIMER_EXIT = 10,
	EVENT_WAKING = 11,
	EVENT_SWITCH = 12,
	EVENT_MIGRATE = 13,
	EVENT_LOCK_BEGIN = 14,
	EVENT_LOCK_END = 15,
	EVENT_IDLE_ENTRY = 16,
	EVENT_IDLE_EXIT = 17,
	EVENT_IPI_SEND = 18,
	EVENT_FAULT = 19,
	EVENT_STEAL = 20,
	EVENT_STACK = 21,
	EVENT_FRAMES = 22,
	EVENT_CALL_ENTRY = 23,
	EVENT_CALL_EXIT = 24,
	EVENT_TIMER_START = 25,
	EVENT_DEFERRED_ENTRY = 26,
	EVENT_DEFERRED_EXIT = 27,
	EVENT_PRIO = 28,
	EVENT_CALLBACK = 29,
	EVENT_HOOK = 30,
	EVENT_COUNT = 31,
};

/* X(name, unit, doc) for each kind of load. */
#define WIRE_LOADS(X)                                                                              \
	X(memory, "bytes", "copies memory far beyond the caches")                                  \
	X(code, "calls", "runs through code far beyond the instruction cache")                     \
	X(tlb, "pages",                                                                            \
	  "reads far more pages than a TLB has translations for, and hardly any data")             \
	X(switch, "switches", "many threads hand tokens round a ring")                             \
	X(net, "bytes", "TCP streams and small TCP and UDP packets over loopback")                 \
	X(fork, "forks", "short-lived processes, one after another")                               \
	X(mmap, "operations", "maps, protects and unmaps memory on several CPUs")                  \
	X(timer, "expirations", "thousands of timer interrupts a second on every CPU")             \
	X(disk, "bytes", "writes a temporary file and waits until the disk has it")                \
	X(nic, "bytes", "packets to and from another machine, by the board's network interface")   \
	X(block, "bytes", "reads of a disk past the page cache")                                   \
	X(cmd, "CPU ms", "runs a command of your own")

#endif
