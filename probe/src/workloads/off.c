// SPDX-License-Identifier: MIT
/*
 * off - for how long interrupts or preemption are disabled, by samples
 *
 * A sample is kept with where it is. What that shows is known at the end, when the code there is
 * looked at: so all of them are kept until then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "activations/caller_names.h"
#include "benchmark/benchmark.h"
#include "clock.h"
#include "off_groups.h"
#include "sampled/sampled.h"
#include "thread.h"
#include "wire/block.h"

/* Samples are read this often. */
#define LOOK_NS (20 * NS_PER_MS)
/* The lowest real-time priority, for the thread that reads them. */
#define READING_PRIORITY 1
/* Samples that are kept, all CPUs together: 40 MB. */
#define MOST_KEPT (UINT64_C(1) << 20)
/* From within some code, such as a retpoline's, the kernel walks a stack no further than to its
 * caller: with so many callers it was walked. */
#define FEWEST_CALLERS 3u
/* Loads are reported on this often. */
#define SESSION_MS 100
/* What a message has beside a block. */
#define MESSAGE_REST 32u

/* A sample, or of preemption several in turn. */
struct kept {
	uint64_t time_ns; /* since the start, when it was seen to end */
	uint64_t late_ns; /* of preemption: to the last point from the first */
	uint64_t due_ns;  /* the last point of the grid */
	uint32_t points;
	uint32_t pid;
	uint16_t place; /* of its CPU */
	uint16_t group;
	bool is_late;
};

/* The longest, with the names of their threads. */
struct longest {
	struct kept kept;
	char comm[16];
};

struct off_run {
	const struct wire_bench_off *plan;
	struct sampled sampled;
	struct off_groups groups;
	uint64_t start_ns, end_ns;
	struct kept *kept;
	char (*comms)[16]; /* of each that is kept */
	size_t count, room;
	uint64_t *lost; /* by place: for want of memory */
	size_t *open;	/* by place: the last that is kept, + 1 */
};

/* ---------------------------------------------------------------- keeping */

static bool make_room(struct off_run *run)
{
	size_t room = run->room ? 2 * run->room : 4096;
	struct kept *kept;
	char (*comms)[16];

	if (run->count < run->room)
		return true;
	if (room > MOST_KEPT)
		return false;
	kept = realloc(run->kept, room * sizeof(*kept));
	run->kept = kept ? kept : run->kept;
	comms = realloc(run->comms, room * sizeof(*comms));
	run->comms = comms ? comms : run->comms;
	if (!kept || !comms)
		return false;
	run->room = room;
	return true;
}

/* goes_on - whether a sample is the next one of the same thread with preemption disabled */
static bool goes_on(const struct off_run *run, size_t place, const struct sampled_row *row)
{
	const struct kept *before = run->open[place] ? &run->kept[run->open[place] - 1] : NULL;

	return before && (row->flags & SAMPLED_COUNTED) && !before->is_late &&
	       before->pid == row->pid && before->due_ns + run->plan->period_ns == row->due_ns &&
	       run->groups.groups[before->group].kind == OFF_COUNTED;
}

static void keep(struct off_run *run, size_t place, const struct sampled_row *row)
{
	uint64_t usual_ns = run->sampled.usual[place].usual_ns;
	bool is_counted = row->flags & SAMPLED_COUNTED;
	struct kept *kept;
	uint64_t points;

	if (row->time_ns < run->start_ns || row->time_ns >= run->end_ns)
		return;
	if (goes_on(run, place, row)) {
		kept = &run->kept[run->open[place] - 1];
	} else if (make_room(run)) {
		kept = &run->kept[run->count];
		*kept = (struct kept){.place = (uint16_t)place, .pid = row->pid};
		memcpy(run->comms[run->count], row->comm, sizeof(row->comm));
		run->open[place] = ++run->count;
	} else {
		run->lost[place]++;
		return;
	}
	kept->time_ns = row->time_ns - run->start_ns;
	points = 1 + row->late_ns / run->plan->period_ns;
	kept->due_ns = row->due_ns + (points - 1) * run->plan->period_ns;
	kept->points += (uint32_t)points;
	/* Who holds it last, as who enables interrupts, where that stack could be walked. */
	if (kept->points == points || row->callers[FEWEST_CALLERS - 1])
		kept->group = off_groups_of(&run->groups, row);
	kept->is_late = !is_counted && (row->flags & SAMPLED_LATE);
	kept->late_ns = is_counted		  ? (kept->points - 1) * run->plan->period_ns
			: row->late_ns > usual_ns ? row->late_ns - usual_ns
						  : 0;
}

static void read_all(struct off_run *run)
{
	struct sampled_row row;

	for (size_t i = 0; i < run->plan->cpus.count; i++)
		while (sampled_next(&run->sampled, i, &row))
			keep(run, i, &row);
}

/* ---------------------------------------------------------------- the end */

/* counts - whether what was kept is a stretch, or late: an instruction that looked like another may
 * have been sampled in time */
static bool counts(const struct off_run *run, const struct kept *kept)
{
	enum off_class class = run->groups.groups[kept->group].class;

	return kept->is_late || class == OFF_CLASS_DISABLED || class == OFF_CLASS_HANDLER;
}

/* drop_others - keep what counts, and add it to its groups */
static void drop_others(struct off_run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->count; i++) {
		struct kept *kept = &run->kept[i];
		struct off_group *group = &run->groups.groups[kept->group];

		if (!counts(run, kept))
			continue;
		group->stretches++;
		group->points += kept->points;
		if (kept->late_ns >= run->plan->period_ns) {
			group->lasting++;
			group->seen_ns += kept->late_ns;
		}
		if (kept->late_ns > group->longest_ns)
			group->longest_ns = kept->late_ns;
		memmove(run->comms[count], run->comms[i], sizeof(run->comms[i]));
		run->kept[count++] = *kept;
	}
	run->count = count;
}

static void send_repetitions(const struct off_run *run, struct child_context *context)
{
	const struct wire_bench_off *plan = run->plan;
	size_t cpus = plan->cpus.count, blocks = plan->repetitions;
	uint64_t (*sums)[OFF_CLASS_COUNT] = calloc(cpus * blocks, sizeof(*sums));

	for (size_t i = 0; sums && i < run->count; i++) {
		const struct kept *kept = &run->kept[i];
		size_t block = (size_t)(kept->time_ns / plan->block_ns);

		sums[(block < blocks ? block : blocks - 1) * cpus + kept->place]
		    [run->groups.groups[kept->group].class] += kept->points;
	}
	for (size_t i = 0; sums && i < cpus * blocks; i++)
		REPORT(context, off_repetition, OFF_REPETITION, .turn = context->turn,
		       .repetition = (uint16_t)(i / cpus), .place = (uint16_t)(i % cpus),
		       .cpu = wire_list_u16(plan->cpus, i % cpus), .ns = plan->block_ns,
		       .points = plan->block_ns / plan->period_ns,
		       .disabled = sums[i][OFF_CLASS_DISABLED],
		       .handler = sums[i][OFF_CLASS_HANDLER], .user = sums[i][OFF_CLASS_USER],
		       .unknown = sums[i][OFF_CLASS_UNKNOWN]);
	free(sums);
}

static void send_longest(const struct off_run *run, struct child_context *context)
{
	size_t longest[WIRE_MOST_OFF_LONGEST], count = 0;

	for (size_t i = 0; i < run->count; i++) {
		enum off_class class = run->groups.groups[run->kept[i].group].class;
		size_t at = count;

		if (class != OFF_CLASS_DISABLED && class != OFF_CLASS_HANDLER)
			continue;
		while (at && run->kept[longest[at - 1]].late_ns < run->kept[i].late_ns)
			at--;
		if (at == WIRE_MOST_OFF_LONGEST)
			continue;
		count += count < WIRE_MOST_OFF_LONGEST;
		memmove(&longest[at + 1], &longest[at], (count - 1 - at) * sizeof(longest[0]));
		longest[at] = i;
	}
	for (size_t i = 0; i < count; i++) {
		const struct kept *kept = &run->kept[longest[i]];
		char comm[sizeof(run->comms[0]) + 1] = "";

		memcpy(comm, run->comms[longest[i]], sizeof(run->comms[0]));
		REPORT(context, off_longest, OFF_LONGEST, .turn = context->turn,
		       .at_ns = kept->time_ns, .cpu = wire_list_u16(run->plan->cpus, kept->place),
		       .pid = kept->pid, .comm = wire_text(comm), .seen_ns = kept->late_ns,
		       .points = kept->points, .group = kept->group);
	}
}

static void send_stretches(const struct off_run *run, struct child_context *context)
{
	static uint8_t data[WIRE_MAX_PAYLOAD];
	size_t room = sizeof(data) - MESSAGE_REST, i = 0;

	while (i < run->count) {
		int64_t before[WIRE_MOST_COLUMNS] = {0};
		size_t first = i, length = 0;

		for (; i < run->count && length + block_longest_row(BLOCK_OFF_STRETCHES) <= room &&
		       i - first < UINT16_MAX;
		     i++) {
			const struct kept *kept = &run->kept[i];
			const int64_t columns[WIRE_MOST_COLUMNS] = {
			    (int64_t)kept->time_ns,
			    (int64_t)kept->late_ns,
			    kept->points,
			    wire_list_u16(run->plan->cpus, kept->place),
			    kept->pid,
			    kept->group,
			};

			length += block_put(data + length, BLOCK_OFF_STRETCHES, columns, before);
		}
		REPORT(context, off_stretches, OFF_STRETCHES, .turn = context->turn,
		       .count = (uint16_t)(i - first), .first = first,
		       .data = {data, (uint16_t)length});
	}
}

static void send_cpus(const struct off_run *run, struct child_context *context)
{
	for (size_t i = 0; i < run->plan->cpus.count; i++) {
		const struct sampled_cpu *cpu = sampled_cpu_of(&run->sampled, i);
		const struct sampled_usual *usual = &run->sampled.usual[i];

		REPORT(context, off_cpu, OFF_CPU, .turn = context->turn, .place = (uint16_t)i,
		       .cpu = wire_list_u16(run->plan->cpus, i), .samples = cpu->samples,
		       .lost = cpu->lost + run->lost[i], .usual_ns = usual->usual_ns,
		       .limit_ns = usual->limit_ns, .without_ns = usual->without_ns,
		       .with_ns = usual->with_ns);
	}
}

static int report(struct off_run *run, struct child_context *context)
{
	struct caller_names names;

	if (!off_groups_judge(&run->groups, &names))
		return fail(context->text, ENOMEM, "no memory for the names of callers");
	drop_others(run);
	send_cpus(run, context);
	off_groups_send(&run->groups, &names, context);
	send_longest(run, context);
	send_stretches(run, context);
	send_repetitions(run, context);
	caller_names_close(&names);
	return 0;
}

/* ---------------------------------------------------------------- a turn */

static int sample_blocks(struct off_run *run, struct child_context *context)
{
	const struct wire_bench_off *plan = run->plan;
	int error = sampled_start(&run->sampled, context->text);
	uint64_t now_ns;

	if (error)
		return error;
	thread_schedule(SCHED_FIFO, READING_PRIORITY);
	run->start_ns = clock_ns();
	run->end_ns = run->start_ns + plan->block_ns * plan->repetitions;
	while ((now_ns = clock_ns()) < run->end_ns) {
		clock_sleep_until(now_ns + LOOK_NS < run->end_ns ? now_ns + LOOK_NS : run->end_ns);
		read_all(run);
	}
	sampled_stop(&run->sampled);
	read_all(run);
	thread_schedule(SCHED_OTHER, 0);
	return report(run, context);
}

static int run_plan(struct child_context *context, const void *asked)
{
	const struct wire_bench_off *plan = asked;
	const struct sampled_plan sampled = {
	    .what = (enum off_what)plan->what, .period_ns = plan->period_ns, .cpus = plan->cpus};
	struct off_run *run = calloc(1, sizeof(*run));
	int error = ENOMEM;

	if (run && off_groups_open(&run->groups)) {
		run->plan = plan;
		run->lost = calloc(plan->cpus.count, sizeof(*run->lost));
		run->open = calloc(plan->cpus.count, sizeof(*run->open));
	}
	if (!run || !run->lost || !run->open)
		return fail(context->text, ENOMEM, "no memory for samples");
	error = sampled_open(&run->sampled, &sampled, context->text);
	if (!error)
		error = sample_blocks(run, context);
	/* The rest ends with the process. */
	sampled_close(&run->sampled);
	return error;
}

static int start(struct workload *workload, const union wire_command *command)
{
	const struct wire_bench_off *asked = &command->bench_off;

	if (asked->what > OFF_PREEMPTION || asked->period_ns < WIRE_SHORTEST_SAMPLING_NS ||
	    asked->period_ns > WIRE_LONGEST_SAMPLING_NS || asked->period_ns > asked->block_ns ||
	    !asked->cpus.count || !benchmark_is_valid(asked->block_ns, asked->repetitions))
		return benchmark_refuse(workload);
	return benchmark_start(workload, asked->turn, run_plan, asked);
}

/* wait_ms - the child sends nothing until its end, and the session reports on loads meanwhile */
static int wait_ms(const struct workload *workload)
{
	(void)workload;
	return SESSION_MS;
}

const struct workload_ops workload_off = {.command = WIRE_BENCH_OFF,
					  .answered_at_end = true,
					  .start = start,
					  .poll = benchmark_poll,
					  .stop = child_workload_stop,
					  .abandon = child_workload_stop,
					  .wait_ms = wait_ms,
					  .input = child_workload_input};
