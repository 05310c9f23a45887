// SPDX-License-Identifier: MIT
/* Written by tools/wiregen.py from schema/wire.toml. Do not edit. */
#ifndef WHYLATE_WIRE_MESSAGES_H
#define WHYLATE_WIRE_MESSAGES_H

#include "constants.h"
#include "pack.h"

enum wire_kind {
	WIRE_HELLO = 1,
	WIRE_READ = 2,
	WIRE_LOAD_START = 3,
	WIRE_SETTING = 4,
	WIRE_WAKEUP = 5,
	WIRE_STOP = 6,
	WIRE_FREQUENCY = 7,
	WIRE_FINISH = 8,
	WIRE_KEEPALIVE = 9,
	WIRE_PAUSE = 10,
	WIRE_PHASE = 11,
	WIRE_RECORDER = 12,
	WIRE_APP = 13,
	WIRE_SECTION = 22,
	WIRE_LIST_PLACES = 23,
	WIRE_COUNTERS = 14,
	WIRE_BENCH_SWITCH = 15,
	WIRE_BENCH_MEMORY = 16,
	WIRE_BENCH_CLOCK = 17,
	WIRE_BENCH_SHARED_CLOCK = 25,
	WIRE_BENCH_BULK = 26,
	WIRE_BENCH_TRACED_SWITCH = 34,
	WIRE_BENCH_FLUSH = 32,
	WIRE_BENCH_SWITCH_FLUSH = 35,
	WIRE_BENCH_OFFSET = 33,
	WIRE_BENCH_COMMAND = 18,
	WIRE_BENCH_OFF = 24,
	WIRE_ACCOUNTING = 19,
	WIRE_RUN = 20,
	WIRE_HITS = 30,
	WIRE_HITS_END = 31,
	WIRE_PUT = 21,
	WIRE_DETACH = 40,
	WIRE_WELCOME = 64,
	WIRE_DONE = 65,
	WIRE_FAILED = 66,
	WIRE_FILE = 67,
	WIRE_CPU_STARTED = 68,
	WIRE_SAMPLES = 69,
	WIRE_PROGRESS = 70,
	WIRE_LOAD_WORK = 71,
	WIRE_CPU_RESULT = 72,
	WIRE_RESULT = 73,
	WIRE_CPU_FREQUENCY = 74,
	WIRE_NOTE = 75,
	WIRE_LOAD_STARTED = 76,
	WIRE_LOAD_DEVICE = 114,
	WIRE_CPU_COUNTS = 77,
	WIRE_RECORDER_STARTED = 78,
	WIRE_RECORDER_SOURCE = 79,
	WIRE_HOOK = 125,
	WIRE_SAMPLE_STAGES = 80,
	WIRE_WINDOW = 81,
	WIRE_EVENTS = 82,
	WIRE_NAME = 83,
	WIRE_SAMPLE_THREADS = 85,
	WIRE_APP_WAIT = 112,
	WIRE_APP_ENDED = 86,
	WIRE_SECTION_STARTED = 126,
	WIRE_SECTION_FLOOR = 130,
	WIRE_SECTION_LOCK = 131,
	WIRE_SECTION_PATH = 136,
	WIRE_EXECUTIONS = 127,
	WIRE_EXECUTION_BINS = 128,
	WIRE_SECTION_RESULT = 129,
	WIRE_SECTION_ARM = 150,
	WIRE_EXECUTION_COUNTS = 132,
	WIRE_FLOOR_COUNTS = 133,
	WIRE_LISTED_PLACE = 134,
	WIRE_PLACES_LISTED = 135,
	WIRE_RECORDER_RESULT = 84,
	WIRE_SYMBOLS = 88,
	WIRE_BUILD_ID = 89,
	WIRE_RECORDER_MAXIMUM = 147,
	WIRE_RECORDER_COST = 87,
	WIRE_RECORDER_DETACHED = 120,
	WIRE_ACK = 240,
	WIRE_RESEND = 241,
	WIRE_FRAGMENT = 242,
	WIRE_TAIL = 243,
	WIRE_MARK = 244,
	WIRE_MARKED = 245,
	WIRE_SWITCH_REPETITION = 90,
	WIRE_SWITCH_FLUSHES = 91,
	WIRE_MEMORY_REPETITION = 92,
	WIRE_MEMORY_BACKING = 93,
	WIRE_CLOCK_PROPERTIES = 94,
	WIRE_CLOCK_REPETITION = 95,
	WIRE_CLOCK_SHARING = 103,
	WIRE_BULK_REPETITION = 104,
	WIRE_BULK_TUNING = 105,
	WIRE_FLUSH_REPETITION = 106,
	WIRE_FLUSH_COUNTING = 107,
	WIRE_VICTIM_FLUSHES = 115,
	WIRE_OFFSET_REPETITION = 108,
	WIRE_FLUSH_REASONS = 109,
	WIRE_SWITCH_TRACE = 113,
	WIRE_COMMAND_REPETITION = 96,
	WIRE_COMMAND_OUTPUT = 97,
	WIRE_OFF_METHOD = 145,
	WIRE_OFF_CPU = 140,
	WIRE_OFF_REPETITION = 141,
	WIRE_OFF_GROUP = 142,
	WIRE_OFF_BINS = 146,
	WIRE_OFF_LONGEST = 143,
	WIRE_OFF_STRETCHES = 144,
	WIRE_REPETITION_COUNTS = 98,
	WIRE_BENCH_FAILED = 99,
	WIRE_CPU_EVENTS = 100,
	WIRE_RUN_OUTPUT = 101,
	WIRE_RUN_ENDED = 102,
	WIRE_HIT_SOURCE = 110,
	WIRE_CPU_HITS = 111,
};

/* hello - The host's first word; the probe answers with welcome. */
struct wire_hello {
	struct wire_bytes version;
};

/* read - Read what matches a glob pattern: answered by file messages, then done. */
struct wire_read {
	uint8_t method;
	uint32_t limit;
	uint64_t offset;
	struct wire_bytes pattern;
};

/* load_start - Start `count` instances of a load. argv: for cmd, nic and block alone. */
struct wire_load_start {
	uint16_t load;
	uint16_t count;
	struct wire_bytes kind;
	struct wire_list argv;
};

/* setting - Write a value to a file under /proc/sys or /sys until the session ends. */
struct wire_setting {
	struct wire_bytes path;
	struct wire_bytes value;
};

/* wakeup - Start the wakeup workload: answered by cpu_started for each CPU, then done. */
struct wire_wakeup {
	uint64_t interval_ns;
	uint64_t duration_ns;
	uint8_t priority;
	uint8_t hold_idle;
	uint8_t spool;
	struct wire_list cpus;
};

/* stop - End the workload now; what was measured is shipped as at a planned end. */
struct wire_stop {
	char nothing; /* C has no empty structs */
};

/* frequency - Measure these CPUs: answered by cpu_frequency and cpu_counts for each, then done. */
struct wire_frequency {
	struct wire_list cpus;
};

/* finish - Stop loads and put back settings; answered by done. */
struct wire_finish {
	char nothing; /* C has no empty structs */
};

/* keepalive - The host is there. After `timeout_ms` without a word from it the probe ends; 0:
 * never. */
struct wire_keepalive {
	uint32_t timeout_ms;
};

/* pause - Answered by done after that time; the next command of a plan waits for it. */
struct wire_pause {
	uint32_t duration_ms;
};

/* phase - The next wakeup workload begins so much later than it else would. */
struct wire_phase {
	uint64_t phase_ns;
};

/* recorder - Record events during the next wakeup workload, which sends recorder_started or a note.
 */
struct wire_recorder {
	uint8_t engine;
	uint64_t threshold_ns;
	uint32_t tail_ppm;
	uint32_t control_every;
	uint64_t ring_bytes;
	uint64_t stop_above_ns;
};

/* app - Watch the wakeups of a program's threads, which the recorder that was asked for records. */
struct wire_app {
	uint64_t duration_ns;
	uint8_t spool;
	uint32_t pid;
	struct wire_bytes comm;
	struct wire_list argv;
};

/* section - Time each execution of a section of code. */
struct wire_section {
	uint64_t duration_ns;
	uint8_t spool;
	uint8_t kind;
	struct wire_bytes begin;
	struct wire_bytes end;
	uint8_t hook;
	uint8_t key;
	struct wire_bytes begin_argument;
	struct wire_bytes end_argument;
	struct wire_list arguments;
	struct wire_list values;
	uint32_t pid;
	struct wire_bytes comm;
	uint32_t one_in;
	uint64_t above_ns;
	uint8_t locks;
	struct wire_bytes file;
	uint8_t treatment;
};

/* list_places - List names that match a pattern, of what a section can begin at. */
struct wire_list_places {
	uint8_t kind;
	struct wire_bytes pattern;
	struct wire_bytes file;
	uint32_t pid;
};

/* counters - Count these events in each repetition, or of each wakeup thread; none: no more. */
struct wire_counters {
	struct wire_list types;
	struct wire_list configs;
	struct wire_list modes;
};

/* bench_switch - Pass a token round a ring of tasks: answered by switch_row messages, then done. */
struct wire_bench_switch {
	uint32_t turn;
	uint16_t tasks;
	uint8_t channel;
	uint8_t threads;
	uint64_t set_bytes;
	uint64_t block_ns;
	uint16_t repetitions;
	uint8_t priority;
	struct wire_list cpus;
};

/* bench_memory - Copy, set or read memory: answered by memory_row and memory_backing messages, then
 * done. */
struct wire_bench_memory {
	uint32_t turn;
	uint8_t operation;
	uint8_t source;
	uint8_t pages;
	uint8_t routine;
	uint64_t size;
	uint64_t block_ns;
	uint16_t repetitions;
	uint16_t cpu;
};

/* bench_clock - Read a clock in threads: answered by clock_nature and clock_row messages, then
 * done. */
struct wire_bench_clock {
	uint32_t turn;
	int32_t clock;
	uint8_t method;
	uint16_t threads;
	uint64_t service_ns;
	uint64_t think_ns;
	uint64_t block_ns;
	uint16_t repetitions;
	struct wire_list cpus;
};

/* bench_shared_clock - As bench_clock, in a form of shared_read.h: a clock_sharing message comes
 * too. */
struct wire_bench_shared_clock {
	uint32_t turn;
	uint8_t method;
	uint8_t form;
	uint16_t threads;
	uint64_t service_ns;
	uint64_t think_ns;
	uint64_t block_ns;
	uint16_t repetitions;
	struct wire_list cpus;
};

/* bench_bulk - Clean lines of the cache in chunks under a lock: bulk_repetition, bulk_tuning, then
 * done. */
struct wire_bench_bulk {
	uint32_t turn;
	uint32_t lines;
	uint32_t chunk;
	uint64_t block_ns;
	uint16_t repetitions;
	uint16_t cpu;
};

/* bench_traced_switch - As bench_switch; at the end of a turn its switches are traced: switch_trace
 * comes too. */
struct wire_bench_traced_switch {
	uint32_t turn;
	uint16_t tasks;
	uint8_t channel;
	uint8_t threads;
	uint64_t set_bytes;
	uint64_t block_ns;
	uint16_t repetitions;
	uint8_t priority;
	struct wire_list cpus;
	uint32_t trace_bytes;
};

/* bench_flush - Flush translations beside a victim: flush_repetition, flush_counting, then done. */
struct wire_bench_flush {
	uint32_t turn;
	uint8_t operation;
	uint16_t pages;
	uint64_t set_bytes;
	uint64_t every_ns;
	uint64_t block_ns;
	uint16_t repetitions;
	uint16_t caller;
	uint16_t victim;
};

/* bench_switch_flush - As bench_flush, where address spaces are switched: a victim_flushes message
 * comes too. */
struct wire_bench_switch_flush {
	uint32_t turn;
	uint16_t tasks;
	uint64_t set_bytes;
	uint64_t block_ns;
	uint16_t repetitions;
	uint16_t caller;
	uint16_t victim;
};

/* bench_offset - Exchange readings of a clock between two CPUs: offset_repetition, then done. */
struct wire_bench_offset {
	uint32_t turn;
	uint8_t clock;
	uint64_t block_ns;
	uint16_t repetitions;
	uint16_t first;
	uint16_t second;
	int32_t shift_ns;
	int32_t drift_ppb;
};

/* bench_command - Run a command once: answered by command_output messages and a command_row, then
 * done. */
struct wire_bench_command {
	uint32_t turn;
	struct wire_list argv;
};

/* bench_off - Look for how long interrupts or preemption are disabled: answered by off_method and
 * more. */
struct wire_bench_off {
	uint32_t turn;
	uint8_t what;
	uint8_t method;
	uint64_t period_ns;
	uint64_t block_ns;
	uint16_t repetitions;
	struct wire_list cpus;
};

/* accounting - End of the benchmarks: answered by result, then done. */
struct wire_accounting {
	char nothing; /* C has no empty structs */
};

/* run - Run a command: answered by run_output messages and run_ended, then done. */
struct wire_run {
	uint32_t timeout_ms;
	uint32_t output_limit;
	struct wire_list argv;
};

/* hits - Count on these CPUs how often functions and tracepoints are hit, in every process. */
struct wire_hits {
	struct wire_list names;
	struct wire_list cpus;
};

/* hits_end - Count hits no more: answered by cpu_hits for each CPU, then done. */
struct wire_hits_end {
	char nothing; /* C has no empty structs */
};

/* put - Write a piece of a file, which replaces what is at its path once the last piece is there.
 */
struct wire_put {
	struct wire_bytes path;
	uint32_t mode;
	uint64_t size;
	uint64_t offset;
	uint64_t checksum;
	struct wire_bytes data;
};

/* detach - Detach the recorder during some blocks of the next wakeup workload. */
struct wire_detach {
	uint64_t block_ns;
	struct wire_list blocks;
};

/* welcome - Who the probe is and what it may do. */
struct wire_welcome {
	struct wire_bytes version;
	struct wire_bytes arch;
	struct wire_bytes sysname;
	struct wire_bytes nodename;
	struct wire_bytes release;
	struct wire_bytes kernel_version;
	struct wire_bytes machine;
	uint32_t uid;
	uint64_t capabilities;
	uint64_t rtprio_limit;
	uint64_t memlock_limit;
	uint64_t clock_resolution_ns;
	uint64_t clock_read_ns;
	struct wire_list cpus;
};

/* done - The command with that number was carried out. */
struct wire_done {
	uint32_t command;
};

/* failed - The command with that number was not carried out, and why. */
struct wire_failed {
	uint32_t command;
	int32_t error;
	struct wire_bytes text;
};

/* file - A piece of what a read found. error is an errno; more: another piece of this path follows.
 */
struct wire_file {
	uint32_t command;
	int32_t error;
	uint8_t truncated;
	uint8_t more;
	struct wire_bytes path;
	struct wire_bytes data;
};

/* cpu_started - A measuring thread is about to start: its first activation is due at start_ns. */
struct wire_cpu_started {
	uint16_t cpu;
	uint8_t policy;
	uint8_t priority;
	uint8_t locked;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t interval_ns;
};

/* samples - Consecutive activations of one CPU from `first` on; `data`: a block samples. */
struct wire_samples {
	uint16_t cpu;
	uint16_t count;
	uint64_t first;
	struct wire_bytes data;
};

/* progress - At now_ns all activations of the k-th CPU below next[k] had been taken from its
 * thread. */
struct wire_progress {
	uint64_t now_ns;
	struct wire_list next;
};

/* load_work - Work that a load did up to now_ns, all its instances together. */
struct wire_load_work {
	uint16_t load;
	uint8_t state;
	uint64_t now_ns;
	uint64_t work;
	struct wire_bytes message;
};

/* cpu_result - The probe's own account of one CPU. dropped: found no room in the thread's buffer.
 */
struct wire_cpu_result {
	uint16_t cpu;
	uint8_t policy;
	uint8_t priority;
	uint8_t locked;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t seen;
	uint64_t overrun;
	uint64_t dropped;
};

/* result - The workload has ended; all its samples were sent before. cpu_time_ns: of the probe
 * alone. */
struct wire_result {
	uint64_t cpu_time_ns;
	uint64_t peak_memory;
};

/* cpu_frequency - The frequency of a CPU as measured with a chain of single-cycle instructions. */
struct wire_cpu_frequency {
	uint16_t cpu;
	uint64_t hz;
};

/* note - Something that the probe noticed and the user should know. */
struct wire_note {
	struct wire_bytes code;
	struct wire_bytes text;
};

/* load_started - A load was started; `unit` is what its work is counted in. */
struct wire_load_started {
	uint16_t load;
	uint16_t count;
	struct wire_bytes unit;
};

/* load_device - What the kernel counted of the device that a load drives, up to now_ns. */
struct wire_load_device {
	uint16_t load;
	uint64_t now_ns;
	struct wire_bytes device;
	struct wire_bytes lines;
	uint64_t interrupts;
	uint64_t softirqs;
	uint64_t in_count;
	uint64_t in_bytes;
	uint64_t out_count;
	uint64_t out_bytes;
	uint64_t received;
	uint64_t delivered;
};

/* cpu_counts - What a CPU's counters counted over a chain, in user mode alone where they can. */
struct wire_cpu_counts {
	uint16_t cpu;
	uint32_t chain;
	int32_t cycles_error;
	uint64_t cycles;
	int32_t instructions_error;
	uint64_t instructions;
};

/* recorder_started - Events are recorded from now on, by that engine, in rings of so many for each
 * CPU. */
struct wire_recorder_started {
	struct wire_bytes engine;
	uint64_t ring_events;
};

/* recorder_source - A tracepoint that the recorder wants. error: the errno for which it was not
 * attached; 0. */
struct wire_recorder_source {
	struct wire_bytes name;
	int32_t error;
};

/* hook - A function of others: at a tracepoint, or a notifier; `at`: which, or what calls it. */
struct wire_hook {
	uint8_t known;
	uint8_t timed;
	struct wire_bytes at;
	struct wire_bytes name;
};

/* sample_stages - How the activations of a block of samples came about; `data`: a block stages. */
struct wire_sample_stages {
	uint16_t cpu;
	uint16_t count;
	uint64_t first;
	struct wire_bytes data;
};

/* window - What was recorded of one activation; its events come next. Times that were not seen are
 * 0. */
struct wire_window {
	uint16_t cpu;
	uint32_t tid;
	uint8_t prio;
	uint8_t reason;
	uint64_t activation;
	uint64_t due_ns;
	uint64_t run_ns;
	uint64_t timer_ns;
	uint64_t waking_ns;
	uint64_t switched_ns;
	uint16_t waking_cpu;
	uint64_t observed_ns;
	uint32_t events;
	struct wire_list sums;
};

/* events - Events of the preceding window, in order; `data`: see kinds of events. */
struct wire_events {
	uint16_t cpu;
	uint16_t count;
	struct wire_bytes data;
};

/* name - What an id means. table: enum name_table. */
struct wire_name {
	uint8_t table;
	uint64_t id;
	struct wire_bytes text;
};

/* sample_threads - Whose the activations of a block of samples are; `data`: a block threads. */
struct wire_sample_threads {
	uint16_t cpu;
	uint16_t count;
	uint64_t first;
	struct wire_bytes data;
};

/* app_wait - Waits of a watched program that are alike: off the CPU until due. `data`: a block
 * waits. */
struct wire_app_wait {
	uint32_t tid;
	uint32_t waker;
	uint8_t origin;
	uint8_t state;
	uint16_t system_call;
	uint64_t futex;
	uint64_t count;
	uint64_t total_ns;
	uint64_t longest_ns;
	uint16_t bins;
	struct wire_bytes data;
};

/* app_ended - The program that was started is over: what it exited with, or the signal that ended
 * it. */
struct wire_app_ended {
	uint8_t status;
	uint8_t signal;
};

/* section_started - How the executions of a section are timed from now on. */
struct wire_section_started {
	uint8_t hook;
	uint32_t one_in;
	uint8_t parts;
	uint64_t tried_ns;
	uint64_t tried;
};

/* section_floor - How long an empty section takes by the same hook; `after`: the run, and not
 * before it. */
struct wire_section_floor {
	uint8_t after;
	uint32_t executions;
	uint64_t floor_ns;
	uint64_t with_ns;
	uint64_t without_ns;
	int32_t error;
	struct wire_bytes text;
};

/* section_lock - Waits for locks in a section that have the same callers, the innermost first. */
struct wire_section_lock {
	uint64_t lock;
	struct wire_bytes name;
	uint32_t flags;
	uint64_t count;
	uint64_t total_ns;
	uint64_t longest_ns;
	struct wire_list callers;
};

/* section_path - Executions of a section that ended with the same callers, or were seen there. */
struct wire_section_path {
	uint8_t sampled;
	uint64_t above_ns;
	uint64_t longer;
	uint64_t total_ns;
	uint64_t longest_ns;
	uint64_t control;
	uint64_t lost;
	struct wire_list callers;
};

/* executions - Executions of a section that are kept; `data`: a block executions. */
struct wire_executions {
	uint16_t cpu;
	uint16_t count;
	uint64_t first;
	struct wire_bytes data;
};

/* execution_bins - All executions that ended on a CPU, by how long they took; `data`: a block
 * waits. */
struct wire_execution_bins {
	uint16_t cpu;
	uint16_t bins;
	struct wire_bytes data;
};

/* section_result - The account of all executions: entries = returned + in_flight + left + too_deep
 * + no_room. */
struct wire_section_result {
	uint64_t entries;
	uint64_t returned;
	uint64_t in_flight;
	uint64_t left;
	uint64_t too_deep;
	uint64_t no_room;
	uint64_t unmatched;
	uint64_t missed;
};

/* section_arm - An arm of an experiment; `data`: a block waits, how long reading took before each.
 */
struct wire_section_arm {
	uint8_t treated;
	uint32_t reads;
	uint64_t entries;
	uint64_t returned;
	uint64_t failed;
	uint16_t bins;
	struct wire_bytes data;
};

/* execution_counts - Counts of the executions of the last block of that CPU; `data`: a block
 * execution_counts. */
struct wire_execution_counts {
	uint16_t cpu;
	uint16_t count;
	uint64_t first;
	struct wire_bytes data;
};

/* floor_counts - Counts of an empty section before the run: the medians of so many executions. */
struct wire_floor_counts {
	uint32_t executions;
	struct wire_list values;
};

/* listed_place - A name that matches. */
struct wire_listed_place {
	uint8_t kind;
	struct wire_bytes name;
	struct wire_bytes detail;
	uint16_t hooks;
	uint8_t obstacle;
	uint32_t same;
	uint64_t offset;
	struct wire_list arguments;
};

/* places_listed - How many names matched, and which of their kind's hooks work on this board. */
struct wire_places_listed {
	uint32_t matched;
	uint32_t lacks;
	struct wire_list hooks;
	struct wire_list texts;
	struct wire_list floor_ns;
	struct wire_list with_ns;
	struct wire_list without_ns;
};

/* recorder_result - What the recorder did, and what it cost. run_ns: 0 where the kernel does not
 * report it. */
struct wire_recorder_result {
	uint64_t windows;
	uint64_t rate_limited;
	uint64_t events;
	uint64_t missed;
	uint64_t runs;
	uint64_t run_ns;
};

/* symbols - How functions in events came by their names. shown: the kernel shows their addresses.
 */
struct wire_symbols {
	uint8_t shown;
	int32_t kptr_restrict;
	uint8_t lowered;
	uint32_t addresses;
	uint32_t named;
};

/* build_id - Of which build the kernel is, or a module of which a function was named; module: its
 * name. */
struct wire_build_id {
	struct wire_bytes module;
	struct wire_bytes id;
};

/* recorder_maximum - The longest execution of an interrupt or softirq; comes before
 * recorder_result. */
struct wire_recorder_maximum {
	uint8_t kind;
	uint32_t number;
	uint16_t cpu;
	uint64_t arrivals;
	uint64_t longest_ns;
	uint64_t longest_at_ns;
	struct wire_list totals_ns;
	struct wire_list spans_ns;
	struct wire_bytes name;
};

/* recorder_cost - What recording cost as far as the board reports it; comes before recorder_result.
 */
struct wire_recorder_cost {
	uint64_t sampled_runs;
	uint64_t sampled_ns;
	uint64_t gather_ns;
};

/* recorder_detached - A stretch of time in which the recorder was detached; comes before
 * recorder_result. */
struct wire_recorder_detached {
	uint64_t begin_ns;
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t until_ns;
	int32_t error;
	uint8_t counted;
	uint64_t before;
	uint64_t after;
};

/* ack - All frames below `next` have arrived. */
struct wire_ack {
	uint32_t next;
};

/* resend - These frames are missing. For a single one, `have` is the bitmap of its fragments at
 * hand. */
struct wire_resend {
	uint32_t first;
	uint16_t count;
	struct wire_bytes have;
};

/* fragment - A piece of a frame that was asked for again: small frames survive a bad line. */
struct wire_fragment {
	uint32_t number;
	uint8_t kind;
	uint16_t index;
	uint16_t total;
	struct wire_bytes data;
};

/* tail - The last number sent, when nothing follows it by which its loss would be noticed. */
struct wire_tail {
	uint32_t last;
};

/* mark - Answered by marked with the same token, after everything that was asked for before it. */
struct wire_mark {
	uint32_t token;
};

/* marked - Everything that was asked for before that mark has been sent. */
struct wire_marked {
	uint32_t token;
};

/* switch_repetition - A block of a ring, and one of a task that passes the token to itself as
 * often. */
struct wire_switch_repetition {
	uint32_t turn;
	uint16_t repetition;
	uint64_t ring_ns;
	uint64_t own_ns;
	uint64_t hops;
	uint64_t switches;
};

/* switch_flushes - What was counted in a block of its own. error: the errno for which it was not;
 * 0. */
struct wire_switch_flushes {
	uint32_t turn;
	uint64_t hops;
	uint64_t switches;
	uint64_t flushes;
	int32_t error;
};

/* memory_repetition - So many passes over the bytes of a turn; of latency, so many dependent reads.
 */
struct wire_memory_repetition {
	uint32_t turn;
	uint16_t repetition;
	uint64_t ns;
	uint64_t passes;
};

/* memory_backing - What stands behind a buffer of a turn, before its first repetition and after its
 * last. */
struct wire_memory_backing {
	uint32_t turn;
	uint8_t after;
	uint8_t target;
	uint64_t pages;
	uint64_t present;
	uint64_t frames;
	uint64_t huge_bytes;
	uint64_t hugetlb_bytes;
	int32_t error;
};

/* clock_properties - What reading a clock is. system_call: enum clock_calls. */
struct wire_clock_properties {
	uint32_t turn;
	uint8_t system_call;
	uint64_t resolution_ns;
};

/* clock_repetition - What one thread did in a repetition: its calls, and then its comparisons with
 * the others. */
struct wire_clock_repetition {
	uint32_t turn;
	uint16_t repetition;
	uint16_t thread;
	uint16_t cpu;
	uint64_t ns;
	uint64_t calls;
	uint64_t checks;
	uint64_t backward;
	uint64_t most_backward_ns;
};

/* clock_sharing - What sharing reads of a clock costs, and how old the values of a turn were. */
struct wire_clock_sharing {
	uint32_t turn;
	uint64_t direct_ps;
	uint64_t strict_ps;
	uint64_t break_even_ps;
	uint32_t patience;
	uint64_t checks;
	uint64_t stale;
	uint64_t most_stale_ns;
};

/* bulk_repetition - Sets of lines that were cleaned, and the delays of signals that came meanwhile.
 */
struct wire_bulk_repetition {
	uint32_t turn;
	uint16_t repetition;
	uint64_t ns;
	uint64_t passes;
	uint64_t holds;
	uint64_t delays;
	uint64_t p50_ns;
	uint64_t p99_ns;
	uint64_t most_ns;
};

/* bulk_tuning - What bulk_work.h makes of the costs, and the chunk that was cleaned in a turn. */
struct wire_bulk_tuning {
	uint32_t turn;
	uint64_t floor_ns;
	uint64_t item_ps;
	uint64_t gap_ns;
	uint64_t choice;
	uint64_t chunk;
};

/* flush_repetition - What a victim did in a block of each kind, while another CPU flushed. */
struct wire_flush_repetition {
	uint32_t turn;
	uint16_t repetition;
	uint64_t shared_ns;
	uint64_t shared_units;
	uint64_t shared_calls;
	uint64_t shared_flushes;
	uint64_t other_ns;
	uint64_t other_units;
	uint64_t other_calls;
	uint64_t other_flushes;
	uint64_t idle_ns;
	uint64_t idle_units;
};

/* flush_counting - Whether flushes were counted. error: the errno for which they were not; 0. */
struct wire_flush_counting {
	uint32_t turn;
	int32_t error;
};

/* victim_flushes - Flushes for which the victim of switches was interrupted in the blocks of a
 * turn. */
struct wire_victim_flushes {
	uint32_t turn;
	uint64_t shared;
	uint64_t other;
	int32_t error;
};

/* offset_repetition - Of the exchanges of a block the quickest: the first CPU's clock before and
 * after it. */
struct wire_offset_repetition {
	uint32_t turn;
	uint16_t repetition;
	uint64_t exchanges;
	uint64_t begin_ns;
	uint64_t peer_ns;
	uint64_t end_ns;
};

/* flush_reasons - Flushes in the block of switch_flushes by reason. error: an errno for which they
 * were not. */
struct wire_flush_reasons {
	uint32_t turn;
	struct wire_list flushes;
	int32_t error;
};

/* switch_trace - A piece of the trace of a turn's switches, in order: lines of ftrace's text. */
struct wire_switch_trace {
	uint32_t turn;
	int32_t error;
	struct wire_bytes data;
};

/* command_repetition - How a command went. status: its exit status; signal: the one that ended it,
 * or 0. */
struct wire_command_repetition {
	uint32_t turn;
	uint64_t wall_ns;
	uint64_t user_ns;
	uint64_t system_ns;
	uint64_t peak_memory;
	uint8_t status;
	uint8_t signal;
};

/* command_output - A piece of what a command wrote, in order. cut: what came before it was too much
 * to keep. */
struct wire_command_output {
	uint32_t turn;
	uint8_t cut;
	struct wire_bytes data;
};

/* off_method - How it is known what is disabled, and why in no better way; comes first. */
struct wire_off_method {
	uint32_t turn;
	uint8_t method;
	struct wire_bytes why;
};

/* off_cpu - How a CPU was sampled, or traced, over the whole turn. */
struct wire_off_cpu {
	uint32_t turn;
	uint16_t place;
	uint16_t cpu;
	uint64_t samples;
	uint64_t work;
	uint64_t unpaired;
	uint64_t lost;
	uint64_t usual_ns;
	uint64_t limit_ns;
	uint64_t without_ns;
	uint64_t with_ns;
};

/* off_repetition - What the points of the sampling grid showed in a block of time of a CPU. */
struct wire_off_repetition {
	uint32_t turn;
	uint16_t repetition;
	uint16_t place;
	uint16_t cpu;
	uint64_t ns;
	uint64_t points;
	uint64_t disabled;
	uint64_t handler;
	uint64_t user;
	uint64_t unknown;
};

/* off_group - Stretches that ended, and began, with the same callers, the innermost first. */
struct wire_off_group {
	uint32_t turn;
	uint16_t group;
	uint8_t why;
	uint64_t stretches;
	uint64_t lasting;
	uint64_t points;
	uint64_t seen_ns;
	uint64_t longest_ns;
	struct wire_list callers;
	struct wire_list began;
};

/* off_bins - All stretches of a CPU, by tracepoints, by how long they took; `data`: a block waits.
 */
struct wire_off_bins {
	uint32_t turn;
	uint16_t cpu;
	uint16_t bins;
	struct wire_bytes data;
};

/* off_longest - One of the longest stretches with interrupts or preemption disabled. */
struct wire_off_longest {
	uint32_t turn;
	uint64_t at_ns;
	uint16_t cpu;
	uint32_t pid;
	struct wire_bytes comm;
	uint64_t seen_ns;
	uint64_t points;
	uint16_t group;
	uint64_t counted_ns;
	struct wire_list counts;
};

/* off_stretches - Stretches of all CPUs; `data`: a block off_stretches. */
struct wire_off_stretches {
	uint32_t turn;
	uint16_t count;
	uint64_t first;
	struct wire_bytes data;
};

/* repetition_counts - What the counters counted in a repetition, in the order of the command
 * counters. */
struct wire_repetition_counts {
	uint32_t turn;
	uint16_t repetition;
	struct wire_list values;
};

/* bench_failed - A turn could not be made, or not to its end. error: an errno; its command fails
 * too. */
struct wire_bench_failed {
	uint32_t turn;
	int32_t error;
	struct wire_bytes text;
};

/* cpu_events - What was counted of a CPU's measuring thread, in the order of the command counters.
 */
struct wire_cpu_events {
	uint16_t cpu;
	struct wire_list values;
};

/* run_output - A piece of what a command that was run wrote. stream: enum output_stream. */
struct wire_run_output {
	uint8_t stream;
	struct wire_bytes data;
};

/* run_ended - How a command that was run ended: its exit status, or the signal that ended it. */
struct wire_run_ended {
	uint8_t status;
	uint8_t signal;
	uint8_t timed_out;
	uint64_t wall_ns;
	uint64_t omitted;
};

/* hit_source - Whether a name of the command hits is counted. error: an errno for which it is not;
 * 0. */
struct wire_hit_source {
	uint16_t place;
	int32_t error;
	struct wire_bytes text;
};

/* cpu_hits - Hits on a CPU, in the order of the names; 0 for those that are not counted. */
struct wire_cpu_hits {
	uint16_t cpu;
	struct wire_list values;
};

/* Any command of the host. */
union wire_command {
	struct wire_hello hello;
	struct wire_read read;
	struct wire_load_start load_start;
	struct wire_setting setting;
	struct wire_wakeup wakeup;
	struct wire_stop stop;
	struct wire_frequency frequency;
	struct wire_finish finish;
	struct wire_keepalive keepalive;
	struct wire_pause pause;
	struct wire_phase phase;
	struct wire_recorder recorder;
	struct wire_app app;
	struct wire_section section;
	struct wire_list_places list_places;
	struct wire_counters counters;
	struct wire_bench_switch bench_switch;
	struct wire_bench_memory bench_memory;
	struct wire_bench_clock bench_clock;
	struct wire_bench_shared_clock bench_shared_clock;
	struct wire_bench_bulk bench_bulk;
	struct wire_bench_traced_switch bench_traced_switch;
	struct wire_bench_flush bench_flush;
	struct wire_bench_switch_flush bench_switch_flush;
	struct wire_bench_offset bench_offset;
	struct wire_bench_command bench_command;
	struct wire_bench_off bench_off;
	struct wire_accounting accounting;
	struct wire_run run;
	struct wire_hits hits;
	struct wire_hits_end hits_end;
	struct wire_put put;
	struct wire_detach detach;
};

/* X(name, NAME) for each command that starts no workload. */
#define WIRE_SESSION_COMMANDS(X)                                                                   \
	X(hello, HELLO)                                                                            \
	X(read, READ)                                                                              \
	X(load_start, LOAD_START)                                                                  \
	X(setting, SETTING)                                                                        \
	X(stop, STOP)                                                                              \
	X(frequency, FREQUENCY)                                                                    \
	X(finish, FINISH)                                                                          \
	X(keepalive, KEEPALIVE)                                                                    \
	X(pause, PAUSE)                                                                            \
	X(phase, PHASE)                                                                            \
	X(recorder, RECORDER)                                                                      \
	X(list_places, LIST_PLACES)                                                                \
	X(counters, COUNTERS)                                                                      \
	X(accounting, ACCOUNTING)                                                                  \
	X(run, RUN)                                                                                \
	X(hits, HITS)                                                                              \
	X(hits_end, HITS_END)                                                                      \
	X(put, PUT)                                                                                \
	X(detach, DETACH)

/* By enum recorder_kind, for its fields a to f. */
extern const uint8_t wire_event_fields[EVENT_COUNT][WIRE_EVENT_FIELDS];

/* Blocks of numbers: see wire/block.h. */
enum wire_block {
	BLOCK_SAMPLES,
	BLOCK_STAGES,
	BLOCK_THREADS,
	BLOCK_WAITS,
	BLOCK_EXECUTIONS,
	BLOCK_EXECUTION_COUNTS,
	BLOCK_OFF_STRETCHES,
};

#endif
