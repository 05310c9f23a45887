// SPDX-License-Identifier: MIT
/*
 * section - how long each execution of a section of code takes
 *
 * BPF programs or trace events time the executions (section/). A SCHED_OTHER thread reads the rows
 * of those that are kept, and sends them; all are counted by how long they took.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "activations/bins.h"
#include "activations/lock_groups.h"
#include "activations/path_groups.h"
#include "activations/section_code.h"
#include "activations/section_windows.h"
#include "activations/thread_names.h"
#include "benchmark/counters.h"
#include "bpf/btf_text.h"
#include "clock.h"
#include "guardian/guardian.h"
#include "recorder/flight.h"
#include "section/floor.h"
#include "section/section.h"
#include "section_counters.h"
#include "section_plan.h"
#include "thread.h"
#include "wire/block.h"
#include "wire/send.h"
#include "workload.h"

/* Rows that may be written to while they are read. */
#define ROWS_GUARD 64u
/* Rows are looked at this often: a CPU writes ROWS_MOST of them at 650,000 a second. */
#define LOOK_MS 50
/* The lowest real-time priority, for the thread that reads the rows: a CPU can write all of them
 * while threads without one wait. */
#define READING_PRIORITY 1
/* Room that the blocks of one examination should find in the link. */
#define BLOCKS_ROOM   (8u * WIRE_MAX_PAYLOAD)
#define MOST_IN_BLOCK 4096u

/* Executions are counted for so long before, to know how many can be kept, */
#define TRY_NS (100 * NS_PER_MS)
/* and what is traced meanwhile is read this often. */
#define TRY_LOOK_NS (10 * NS_PER_MS)
/* of those that come in a second. */
#define KEPT_PER_S 250000u
/* In an experiment fewer are drawn: reading takes about 1 ms of a CPU for 8 MiB, and 5 us for code.
 */
#define COLD_PER_S     100u
#define PREFETCH_PER_S 2000u
/* Where a part is asked for, so many times as many. */
#define MOST_TREATED 5u
/* With more on one CPU its hooks would take most of the CPU. */
#define MOST_PER_S 4000000u

/* Hooks may take so much of a CPU's time while the probe does not run; an execution's take so long,
 * or what was measured where that is more. */
#define UNSEEN_NS (500 * NS_PER_MS)
#define HOOKS_NS  250u
/* It is noted where hooks take so much of a CPU's time, in percent: of a whole run, and before it.
 */
#define SHARE_NOTED 10u
#define SHARE_FIRST 50u

/* About so many executions that are not longer have a call path, all CPUs together, and more where
 * that would be fewer than one of CONTROL_ONE_IN_MOST. */
#define CONTROLS	    4096u
#define CONTROL_ONE_IN_MOST 64u

/* A CPU is looked at this often, from and to. */
#define SAMPLE_LEAST_NS (100 * UINT64_C(1000))
#define SAMPLE_MOST_NS	(4 * NS_PER_MS)

/* How long the ends of executions that began before the end are awaited. */
#define LAST_NS (100 * NS_PER_MS)

/* A CPU, and the block of its rows that is being filled. */
struct section_reader {
	uint64_t next; /* the row to look at, */
	uint64_t lock; /* and the wait for a lock */
	uint64_t seen;
	uint64_t dropped;
	uint64_t first;
	uint16_t count;
	int64_t before[WIRE_MOST_COLUMNS];
	size_t length;
	uint8_t data[WIRE_MAX_PAYLOAD];
	/* Where events are counted: of the same rows. */
	int64_t counts_before[WIRE_MOST_COLUMNS];
	size_t counts_length;
	uint8_t counts[WIRE_MAX_PAYLOAD];
};

struct section_workload {
	struct sender *sender;
	struct section section;
	struct cpu_counters counters;
	struct section_names names;
	struct section_reader *readers; /* by CPU number */
	struct section_windows windows;
	struct thread_names threads;
	struct lock_groups locks;
	uint64_t locks_lost;
	struct path_groups paths;
	struct path_groups samples;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t shipped_ns;
	uint64_t paths_ns;   /* when call paths were read */
	uint64_t tried_most; /* executions on one CPU, while it was tried how often they begin */
	uint64_t hooks_ns;   /* what hooks take at least of each execution; 0: not known */
	uint64_t allowed;    /* executions of a CPU that may begin between two looks */
	bool is_over;	     /* executions begin no more */
	bool ending;
	bool is_behind; /* more is traced than was read in one call */
};

/* ---------------------------------------------------------------- blocks */

static void ship_block(struct section_workload *workload, uint16_t number)
{
	struct section_reader *reader = &workload->readers[number];

	if (!reader->count)
		return;
	KEEP(workload->sender, executions, EXECUTIONS, .cpu = number, .count = reader->count,
	     .first = reader->first, .data = {reader->data, (uint16_t)reader->length});
	if (workload->counters.count)
		KEEP(workload->sender, execution_counts, EXECUTION_COUNTS, .cpu = number,
		     .count = reader->count, .first = reader->first,
		     .data = {reader->counts, (uint16_t)reader->counts_length});
	reader->count = 0;
}

/* put_counts - append the counts of a row to its CPU's block; returns whether one more fits */
static bool put_counts(struct section_workload *workload, struct section_reader *reader,
		       const struct section_row *row)
{
	int64_t columns[WIRE_MOST_COLUMNS] = {(int64_t)row->count_state};

	if (!workload->counters.count)
		return true;
	for (size_t i = 0; i < WIRE_MOST_EXECUTION_COUNTS; i++)
		columns[1 + i] = (int64_t)row->counts[i];
	reader->counts_length += block_put(reader->counts + reader->counts_length,
					   BLOCK_EXECUTION_COUNTS, columns, reader->counts_before);
	return reader->counts_length + block_longest_row(BLOCK_EXECUTION_COUNTS) <=
	       sender_block_limit(workload->sender);
}

/* put - append a row to its CPU's block */
static void put(struct section_workload *workload, uint16_t number, uint64_t index,
		const struct section_row *row)
{
	struct section_reader *reader = &workload->readers[number];
	bool has_room;
	const int64_t columns[WIRE_MOST_COLUMNS] = {
	    (int64_t)(row->begin_ns - workload->start_ns),
	    (int64_t)row->duration_ns,
	    row->pid,
	    row->flags | row->begin_cpu << 8,
	    (int64_t)row->parts.interrupted_ns,
	    (int64_t)row->parts.preempted_ns,
	    (int64_t)row->parts.slept_ns,
	    (int64_t)row->parts.lock_ns,
	    (int64_t)row->parts.faults,
	    (int64_t)row->parts.fault_ns,
	    (int64_t)row->parts.steal_ns,
	    row->samples,
	    row->spins,
	};

	if (reader->count && reader->first + reader->count != index)
		ship_block(workload, number);
	if (!reader->count) {
		memset(reader->before, 0, sizeof(reader->before));
		memset(reader->counts_before, 0, sizeof(reader->counts_before));
		reader->length = reader->counts_length = 0;
		reader->first = index;
	}
	reader->length +=
	    block_put(reader->data + reader->length, BLOCK_EXECUTIONS, columns, reader->before);
	has_room = put_counts(workload, reader, row);
	if (++reader->count == MOST_IN_BLOCK || !has_room ||
	    reader->length + block_longest_row(BLOCK_EXECUTIONS) >
		sender_block_limit(workload->sender))
		ship_block(workload, number);
}

/* read_cpu - send the rows of a CPU that are written; true: all of them */
static bool read_cpu(struct section_workload *workload, uint16_t number)
{
	struct section_reader *reader = &workload->readers[number];
	struct section_cpu *cpu = section_cpu_at(&workload->section, number);
	uint64_t rows = workload->section.plan.rows, written, newest;

	written = __atomic_load_n(&cpu->rows, __ATOMIC_ACQUIRE);
	for (; reader->next < written; reader->next++) {
		const struct section_row *at =
		    section_row_at(&workload->section, number, reader->next);
		uint64_t made = __atomic_load_n(&at->number, __ATOMIC_ACQUIRE);
		struct section_row row = *at;

		newest = __atomic_load_n(&cpu->rows, __ATOMIC_ACQUIRE);
		if (newest - reader->next > rows - ROWS_GUARD) {
			/* Overwritten, or about to be. */
			reader->dropped += newest - (rows - ROWS_GUARD) - reader->next;
			reader->next = newest - (rows - ROWS_GUARD) - 1;
			continue;
		}
		/* It is being written: whoever does that was preempted, or this CPU was quicker. */
		if (made != reader->next + 1 && !workload->ending)
			return true;
		if (made != reader->next + 1) {
			reader->dropped++;
			continue;
		}
		if (!section_windows_are_gathered(&workload->windows, &row) && !workload->ending)
			return true;
		if (!sender_has_room(workload->sender, BLOCKS_ROOM))
			return false;
		put(workload, number, reader->next, &row);
		section_windows_examine(&workload->windows, number, reader->next, &row);
		thread_names_send(&workload->threads, workload->sender, row.pid);
		reader->seen++;
	}
	return true;
}

/* read_locks - add a CPU's waits for locks to their groups */
static void read_locks(struct section_workload *workload, uint16_t number)
{
	struct section_reader *reader = &workload->readers[number];
	struct section_cpu *cpu = section_cpu_at(&workload->section, number);
	uint64_t written = __atomic_load_n(&cpu->locks_count, __ATOMIC_ACQUIRE);

	for (; reader->lock < written; reader->lock++) {
		const struct section_lock *at = &cpu->locks[reader->lock % SECTION_LOCKS];
		uint64_t made = __atomic_load_n(&at->number, __ATOMIC_ACQUIRE);
		struct section_lock wait = *at;

		if (made == reader->lock + 1 &&
		    __atomic_load_n(&cpu->locks_count, __ATOMIC_ACQUIRE) - reader->lock <=
			SECTION_LOCKS)
			lock_groups_add(&workload->locks, &wait);
		else
			workload->locks_lost++;
	}
}

/* read_paths - add a CPU's call paths to their groups */
static void read_paths(const struct section_workload *workload, struct section_paths *paths,
		       struct path_groups *groups)
{
	uint64_t written = __atomic_load_n(&paths->written, __ATOMIC_ACQUIRE);

	while (paths->read < written) {
		const struct section_path *path = &paths->paths[paths->read % SECTION_PATHS];

		/* It is being written; at the end whoever did is gone. */
		if (__atomic_load_n(&path->number, __ATOMIC_ACQUIRE) == paths->read + 1)
			path_groups_add(groups, path);
		else if (!workload->ending)
			return;
		/* Its place is free once it was read. */
		__atomic_store_n(&paths->read, paths->read + 1, __ATOMIC_RELEASE);
	}
}

/* read_all_paths - read those of a CPU, of ends and of samples */
static void read_all_paths(struct section_workload *workload, uint16_t number)
{
	struct section *section = &workload->section;

	if (section->paths)
		read_paths(workload, &section->paths[number], &workload->paths);
	if (section->samples)
		read_paths(workload, &section->samples[number], &workload->samples);
}

/* ---------------------------------------------------------------- start */

/* release - give back what open_section() took */
static void release(struct section_workload *workload)
{
	section_close(&workload->section);
	cpu_counters_close(&workload->counters);
	lock_groups_close(&workload->locks);
	path_groups_close(&workload->paths);
	path_groups_close(&workload->samples);
	free(workload->readers);
}

/* set_controls - choose how many of the executions that are not longer have a call path; per_s: of
 * those that are drawn */
static void set_controls(const struct section *section, uint64_t per_s, uint64_t duration_ns)
{
	uint64_t one_in = per_s * (duration_ns / NS_PER_MS) / 1000 / CONTROLS;

	if (one_in > CONTROL_ONE_IN_MOST)
		one_in = CONTROL_ONE_IN_MOST;
	for (uint16_t i = 0; section->paths && i < section->plan.cpu_limit; i++)
		section->paths[i].control_one_in = one_in ? one_in : 1;
}

/* sample_ns_for - how often executions are looked at so that a longer one is seen four times, if
 * that is not too often */
static uint64_t sample_ns_for(uint64_t longer_ns)
{
	if (!longer_ns || longer_ns / 4 > SAMPLE_MOST_NS)
		return SAMPLE_MOST_NS;
	return longer_ns / 4 > SAMPLE_LEAST_NS ? longer_ns / 4 : SAMPLE_LEAST_NS;
}

/* kept_per_s - how many executions are kept in a second at most */
static uint64_t kept_per_s(const struct wire_section *asked)
{
	if (asked->treatment == TREATMENT_COLD)
		return COLD_PER_S;
	return asked->treatment == TREATMENT_PREFETCH ? PREFETCH_PER_S : KEPT_PER_S;
}

/* wait_gathering - wait until then, and pair what is traced meanwhile */
static void wait_gathering(struct section *section, uint64_t until_ns)
{
	uint64_t step_ns = section->tracing ? TRY_LOOK_NS : TRY_NS, now_ns;

	while ((now_ns = clock_ns()) < until_ns) {
		clock_sleep_until(now_ns + step_ns < until_ns ? now_ns + step_ns : until_ns);
		section_gather(section);
	}
}

/* most_entries - how many executions began on the CPU where most did */
static uint64_t most_entries(const struct section *section)
{
	uint64_t most = 0;

	for (uint16_t i = 0; i < section->plan.cpu_limit; i++)
		if (section_cpu_at(section, i)->entries > most)
			most = section_cpu_at(section, i)->entries;
	return most;
}

/*
 * try_rate - count executions for a while, and choose how many are kept; returns 0, or an errno
 * with the text
 *
 * Which are kept must not depend on what comes: one of so many, for the whole run.
 */
static int try_rate(struct section_workload *workload, const struct wire_section *asked,
		    struct wire_section_started *started, char *text)
{
	struct section *section = &workload->section;
	struct section_account account;
	uint64_t began_ns, per_s, longer_ns, most;
	uint32_t one_in = asked->one_in ? asked->one_in : 1;
	bool is_within;
	int error;

	for (uint16_t i = 0; i < section->plan.cpu_limit; i++) {
		/* None is kept, and nothing is read. */
		section_cpu_at(section, i)->one_in = WIRE_MOST_ONE_IN;
		section_cpu_at(section, i)->above_ns = 0;
		section_cpu_at(section, i)->longer_ns = 0;
	}
	section_allow(section, MOST_PER_S);
	/* From now on it is known whether samples can be had; how often they come is chosen below.
	 */
	section->sample_ns = section->plan.config.keeps_samples ? SAMPLE_MOST_NS : 0;
	error = section_attach(section, text);
	if (error)
		return error;
	began_ns = clock_ns();
	wait_gathering(section, began_ns + TRY_NS);
	is_within = section_allow(section, MOST_PER_S);
	section_close_entries(section);
	started->tried_ns = clock_ns() - began_ns;
	section_detach(section);
	while (!section_gather(section))
		continue;
	section_account(section, &account);
	most = most_entries(section);
	workload->tried_most = most;
	started->tried = account.entries;
	per_s = account.entries * NS_PER_S / started->tried_ns;
	if (!is_within || most * NS_PER_S / started->tried_ns > MOST_PER_S)
		return fail(text, EBUSY,
			    "it begins %" PRIu64 " times a second: timing it would take most of a "
			    "CPU, use one that runs less often",
			    per_s);
	if (section_lost(section))
		return fail(text, EBUSY,
			    "it begins so often, %" PRIu64
			    " times a second, that trace events are overwritten before they are "
			    "read: use one that runs less often, or --comm NAME",
			    per_s);
	/* Each flush or walk draws one execution, however many there are. */
	if (asked->treatment >= TREATMENT_FLUSH)
		per_s = 0;
	while (!asked->one_in && per_s / one_in > kept_per_s(asked) && one_in < WIRE_MOST_ONE_IN)
		one_in *= 2;
	if (asked->treatment && per_s / one_in > MOST_TREATED * kept_per_s(asked))
		return fail(text, EBUSY,
			    "reading before %" PRIu64 " executions a second would take most of a "
			    "CPU: leave --one-in out",
			    per_s / one_in);
	longer_ns = asked->above_ns ? asked->above_ns : section_longer_ns(section);
	section_forget(section);
	for (uint16_t i = 0; i < section->plan.cpu_limit; i++) {
		section_cpu_at(section, i)->one_in = one_in;
		section_cpu_at(section, i)->above_ns = asked->above_ns;
		section_cpu_at(section, i)->longer_ns = longer_ns;
	}
	set_controls(section, per_s / one_in, asked->duration_ns);
	if (section->plan.config.keeps_samples)
		section->sample_ns = sample_ns_for(longer_ns);
	started->one_in = one_in;
	started->hook = (uint8_t)section_hook_kind(section);
	return 0;
}

/* open_section - load the programs and find out how many executions come; returns 0, or an errno
 * with the text */
static int open_section(struct section_workload *workload, const struct wire_section *asked,
			const struct workload_context *context,
			struct wire_section_started *started, char *text)
{
	const struct counter_set *set = context->counters;
	struct section_plan plan;
	int error = section_plan_take(&workload->names, asked, &plan, text);

	/* The guardian removes what trace events need on the board when the probe is gone. */
	if (!error && plan.kind != SECTION_USER)
		error = guardian_tracing(context->flight->guardian, text);
	if (error)
		return error;
	if (set->count > WIRE_MOST_EXECUTION_COUNTS)
		return fail(text, E2BIG, "at most %u events can be counted of each execution",
			    WIRE_MOST_EXECUTION_COUNTS);
	plan.config.counter_count = set->count;
	error = section_open(&workload->section, &plan, text);
	if (error)
		return error;
	workload->readers = calloc(plan.cpu_limit, sizeof(*workload->readers));
	error = workload->readers && lock_groups_open(&workload->locks) &&
			path_groups_open(&workload->paths, asked->kind == SECTION_USER) &&
			path_groups_open(&workload->samples, asked->kind == SECTION_USER)
		    ? section_counters_open(&workload->counters, &workload->section, set, text)
		    : fail(text, ENOMEM, "no memory for rows");
	if (!error)
		error = try_rate(workload, asked, started, text);
	if (error)
		release(workload);
	return error;
}

/* send_floor - measure how long an empty section takes, and send it */
static void send_floor(struct section_workload *workload, bool after)
{
	struct section_floor floor;
	char text[FAILURE_TEXT] = "";
	int error = floor_measure(&workload->section, !after, &floor, text);
	uint64_t adds_ns = floor.with_ns > floor.without_ns ? floor.with_ns - floor.without_ns : 0;
	uint64_t hooks_ns = adds_ns > floor.floor_ns ? adds_ns : floor.floor_ns;

	workload->hooks_ns =
	    !after || hooks_ns < workload->hooks_ns ? hooks_ns : workload->hooks_ns;
	workload->allowed = UNSEEN_NS / (hooks_ns > HOOKS_NS ? hooks_ns : HOOKS_NS);
	SEND(workload->sender, section_floor, SECTION_FLOOR, .after = after,
	     .executions = floor.executions, .floor_ns = floor.floor_ns, .with_ns = floor.with_ns,
	     .without_ns = floor.without_ns, .error = error, .text = wire_text(error ? text : ""));
	if (floor.counted && !after) {
		uint8_t room[8 * WIRE_MOST_EXECUTION_COUNTS];

		SEND(workload->sender, floor_counts, FLOOR_COUNTS, .executions = floor.counted,
		     .values = wire_list_of_u64(room, floor.counts,
						workload->section.plan.config.counter_count));
	}
}

/* note_share - say how much of a CPU's time hooks take, where it is so many percent; entries: that
 * began there in that time */
static void note_share(struct section_workload *workload, const char *when, uint64_t entries,
		       uint64_t time_ns, uint64_t percent)
{
	uint64_t share = time_ns ? 100 * entries * workload->hooks_ns / time_ns : 0;

	if (share < percent)
		return;
	send_note(workload->sender, "section",
		  "%s its hooks take %" PRIu64 " %% of a CPU's time: %" PRIu64
		  " executions a second, and %" PRIu64 " ns or more of each. What runs the "
		  "section is that much slower: use one that runs less often, or --comm NAME",
		  when, share < 100 ? share : 100, entries * NS_PER_S / time_ns,
		  workload->hooks_ns);
}

static int start(struct workload *workload, const union wire_command *command)
{
	const struct wire_section *asked = &command->section;
	struct sender *sender = workload->context.sender;
	struct section_workload *state = calloc(1, sizeof(*state));
	struct wire_section_started started = {0};
	int error;

	if (!state)
		return fail(workload->text, ENOMEM, "no memory to time a section");
	state->sender = sender;
	workload->state = state;
	btf_text_keep();
	error = asked->spool ? workload_spool(workload) : 0;
	if (!error)
		error = open_section(state, asked, &workload->context, &started, workload->text);
	if (error) {
		btf_text_forget();
		sender_unspool(sender);
		free(state);
		return error;
	}
	SEND(sender, section_started, SECTION_STARTED, .hook = started.hook,
	     .one_in = started.one_in, .parts = state->section.parts.observed,
	     .tried_ns = started.tried_ns, .tried = started.tried);
	/* Its programs come before those of the section, at the same tracepoints too. */
	section_windows_start(&state->windows, workload->context.flight,
			      started.tried * NS_PER_S / started.tried_ns / started.one_in);
	send_floor(state, false);
	btf_text_forget();
	note_share(state, "before the run", state->tried_most, started.tried_ns, SHARE_FIRST);
	section_allow(&state->section, state->allowed);
	error = section_attach(&state->section, workload->text);
	if (!error)
		error = section_start_arming(&state->section, workload->text);
	if (error) {
		section_windows_end(&state->windows);
		release(state);
		sender_unspool(sender);
		free(state);
		return error;
	}
	thread_schedule(SCHED_FIFO, READING_PRIORITY);
	state->start_ns = state->shipped_ns = clock_ns();
	state->end_ns = state->start_ns + asked->duration_ns;
	for (uint16_t i = 0; i < state->section.plan.cpu_limit; i++)
		SEND(sender, cpu_started, CPU_STARTED, .cpu = i, .start_ns = state->start_ns,
		     .end_ns = state->end_ns);
	return 0;
}

/* ---------------------------------------------------------------- end */

static void send_results(struct section_workload *workload)
{
	const struct section *section = &workload->section;
	struct section_account account;

	section_account(section, &account);
	for (uint16_t i = 0; i < section->plan.cpu_limit; i++) {
		uint64_t counts[WIRE_WAIT_BINS];
		uint8_t data[WIRE_MAX_PAYLOAD];
		uint16_t length, bins;

		for (size_t bin = 0; bin < WIRE_WAIT_BINS; bin++)
			counts[bin] = section_cpu_at(section, i)->bins[bin];
		bins = bins_put(counts, data, &length);
		if (bins)
			SEND(workload->sender, execution_bins, EXECUTION_BINS, .cpu = i,
			     .bins = bins, .data = {data, length});
	}
	SEND(workload->sender, section_result, SECTION_RESULT, .entries = account.entries,
	     .returned = account.returned, .in_flight = account.in_flight, .left = account.left,
	     .too_deep = account.too_deep, .no_room = account.no_room,
	     .unmatched = account.unmatched, .missed = account.missed);
	for (uint16_t i = 0; i < section->plan.cpu_limit; i++)
		SEND(workload->sender, cpu_result, CPU_RESULT, .cpu = i,
		     .start_ns = workload->start_ns, .end_ns = workload->end_ns,
		     .seen = workload->readers[i].seen, .dropped = workload->readers[i].dropped);
}

/* send_paths - send the groups of call paths, where they were asked for */
static void send_paths(struct section_workload *workload, const struct section_paths *paths,
		       const struct path_groups *groups, bool is_sampled)
{
	const struct section *section = &workload->section;
	uint64_t lost = 0;

	if (!paths)
		return;
	for (uint16_t i = 0; i < section->plan.cpu_limit; i++)
		lost += paths[i].lost;
	path_groups_send(groups, is_sampled, section_cpu_at(section, 0)->longer_ns, lost,
			 workload->sender);
}

static void end(struct section_workload *workload)
{
	thread_schedule(SCHED_OTHER, 0);
	send_floor(workload, true);
	note_share(workload, "in the run", most_entries(&workload->section),
		   workload->end_ns - workload->start_ns, SHARE_NOTED);
	for (uint16_t i = 0; i < workload->section.plan.cpu_limit; i++)
		ship_block(workload, i);
	sender_unspool(workload->sender);
	section_windows_end(&workload->windows);
	lock_groups_send(&workload->locks, workload->sender);
	if (workload->locks_lost)
		send_note(workload->sender, "locks",
			  "%" PRIu64
			  " waits for locks were overwritten before they were read: they "
			  "are in no line of the table",
			  workload->locks_lost);
	send_paths(workload, workload->section.paths, &workload->paths, false);
	send_paths(workload, workload->section.samples, &workload->samples, true);
	if (section_lost(&workload->section))
		send_note(workload->sender, "section",
			  "%" PRIu64
			  " trace events were overwritten before they were read: executions that "
			  "had begun by then count as left without a return",
			  section_lost(&workload->section));
	if (!section_counts_missed(&workload->section))
		send_note(workload->sender, "section",
			  "an execution that begins while a kprobe is at work on its CPU, for "
			  "example in an interrupt during a hook, is not timed, and by this hook "
			  "the kernel does not count it: --hook tracefs does");
	section_arms_send(&workload->section, workload->sender);
	send_results(workload);
	release(workload);
	workload_send_result(workload->sender);
	free(workload);
}

static void stop(struct workload *workload)
{
	struct section_workload *state = workload->state;
	uint64_t now_ns = clock_ns();

	if (now_ns < state->end_ns)
		state->end_ns = now_ns;
}

/* guard - end the run where executions began so often that the probe could not look */
static void guard(struct workload *workload, uint64_t now_ns)
{
	struct section_workload *state = workload->state;

	if (state->is_over)
		return;
	state->is_over = now_ns >= state->end_ns;
	if (section_allow(&state->section, state->allowed))
		return;
	state->is_over = true;
	send_note(state->sender, "section",
		  "%" PRIu64 " executions began on a CPU before the probe could run again: none "
		  "was timed any more, and the run ends %" PRIu64 " ms after its beginning. Use a "
		  "section that runs less often, or --comm NAME",
		  state->allowed, (now_ns - state->start_ns) / NS_PER_MS);
	stop(workload);
}

static bool poll(struct workload *workload, uint64_t now_ns)
{
	struct section_workload *state = workload->state;
	bool all, ship = now_ns - state->shipped_ns >= SHIP_NS;
	bool reads_paths;

	guard(workload, now_ns);
	section_windows_gather(&state->windows);
	if (now_ns >= state->end_ns)
		section_close_entries(&state->section);
	if (now_ns >= state->end_ns + LAST_NS && !state->ending) {
		section_detach(&state->section);
		state->ending = true;
	}
	state->is_behind = !section_gather(&state->section);
	all = !state->is_behind;
	/* Stacks are walked as far as they are read: the host can have this run more often. */
	reads_paths = state->ending || now_ns - state->paths_ns >= LOOK_MS * NS_PER_MS;
	if (reads_paths)
		state->paths_ns = now_ns;
	for (uint16_t i = 0; i < state->section.plan.cpu_limit; i++) {
		all &= read_cpu(state, i);
		read_locks(state, i);
		if (reads_paths)
			read_all_paths(state, i);
		if (ship)
			ship_block(state, i);
	}
	if (ship)
		state->shipped_ns = now_ns;
	if (!state->ending || !all)
		return false;
	end(state);
	return true;
}

static int wait_ms(const struct workload *workload)
{
	const struct section_workload *state = workload->state;

	if (state->is_behind)
		return 0;
	/* Events of the recorder may be overwritten sooner than rows. */
	return workload->context.flight->recording ? workload_look_ms(workload) : LOOK_MS;
}

const struct workload_ops workload_section = {
    .command = WIRE_SECTION, .start = start, .poll = poll, .stop = stop, .wait_ms = wait_ms};
