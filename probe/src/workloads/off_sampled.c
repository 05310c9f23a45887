// SPDX-License-Identifier: MIT
/*
 * A turn by samples. A sample is kept with where it is. What that shows is known at the end, when
 * the code there is looked at: so all of them are kept until then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "activations/caller_names.h"
#include "clock.h"
#include "off_turn.h"
#include "sampled/sampled.h"
#include "thread.h"

/* From within some code, such as a retpoline's, the kernel walks a stack no further than to its
 * caller: with so many callers it was walked. */
#define FEWEST_CALLERS 3u

struct off_run {
	struct off_turn *turn;
	struct sampled sampled;
	uint64_t *lost; /* by place: for want of memory */
	size_t *open;	/* by place: the last that is kept, + 1 */
};

/* ---------------------------------------------------------------- keeping */

/* goes_on - whether a sample is the next one of the same thread with preemption disabled */
static bool goes_on(const struct off_run *run, size_t place, const struct sampled_row *row)
{
	const struct off_kept *before =
	    run->open[place] ? &run->turn->kept[run->open[place] - 1] : NULL;

	return before && (row->flags & SAMPLED_COUNTED) && !before->is_late &&
	       before->pid == row->pid &&
	       before->due_ns + run->turn->plan->period_ns == row->due_ns &&
	       run->turn->groups.groups[before->group].at.kind == OFF_COUNTED;
}

static enum off_kind kind_of(const struct sampled_row *row)
{
	if (row->flags & SAMPLED_COUNTED)
		return OFF_COUNTED;
	if (row->flags & SAMPLED_USER)
		return OFF_USER;
	return OFF_KERNEL;
}

static uint16_t group_of(struct off_turn *turn, const struct sampled_row *row)
{
	struct off_place at = {.kind = kind_of(row)};

	memcpy(at.callers, row->callers, sizeof(at.callers));
	memcpy(at.code, row->code, sizeof(at.code));
	return off_groups_of(&turn->groups, &at);
}

/* add_counted - add what was counted up to a sample. Of preemption the first sample of a stretch is
 * its beginning: what was counted before is of others. Nothing is known of all where it is not of a
 * part. */
static void add_counted(struct off_turn *turn, const struct off_kept *kept,
			const struct sampled_row *row)
{
	struct counted *to = off_turn_counted(turn, kept);
	bool is_preemption = row->flags & SAMPLED_COUNTED;

	if (!to)
		return;
	if (kept->points <= is_preemption) {
		*to = kept->points == is_preemption ? row->counted : (struct counted){0};
		return;
	}
	to->time_ns = to->time_ns && row->counted.time_ns ? to->time_ns + row->counted.time_ns : 0;
	for (size_t i = 0; i < WIRE_MOST_OFF_COUNTS; i++)
		to->values[i] += row->counted.values[i];
}

static void keep(struct off_run *run, size_t place, const struct sampled_row *row)
{
	struct off_turn *turn = run->turn;
	uint64_t usual_ns = run->sampled.usual[place].usual_ns;
	bool is_counted = row->flags & SAMPLED_COUNTED;
	struct off_kept *kept;
	uint64_t points;

	if (row->time_ns < turn->start_ns || row->time_ns >= turn->end_ns)
		return;
	kept = goes_on(run, place, row) ? &turn->kept[run->open[place] - 1] : NULL;
	if (!kept) {
		kept = off_turn_add(turn, row->comm);
		if (!kept) {
			run->lost[place]++;
			return;
		}
		kept->place = (uint16_t)place;
		kept->pid = row->pid;
		run->open[place] = turn->count;
	}
	add_counted(turn, kept, row);
	kept->time_ns = row->time_ns - turn->start_ns;
	points = 1 + row->late_ns / turn->plan->period_ns;
	kept->due_ns = row->due_ns + (points - 1) * run->turn->plan->period_ns;
	kept->points += points;
	/* Who holds it last, as who enables interrupts, where that stack could be walked. */
	if (kept->points == points || row->callers[FEWEST_CALLERS - 1])
		kept->group = group_of(turn, row);
	kept->is_late = !is_counted && (row->flags & SAMPLED_LATE);
	kept->late_ns = is_counted		  ? (kept->points - 1) * run->turn->plan->period_ns
			: row->late_ns > usual_ns ? row->late_ns - usual_ns
						  : 0;
}

static void read_all(struct off_run *run)
{
	struct sampled_row row;

	for (size_t i = 0; i < run->turn->plan->cpus.count; i++)
		while (sampled_next(&run->sampled, i, &row))
			keep(run, i, &row);
}

/* ---------------------------------------------------------------- the end */

/* counts - whether what was kept is a stretch, or late: an instruction that looked like another may
 * have been sampled in time */
static bool counts(const struct off_run *run, const struct off_kept *kept)
{
	enum off_class class = run->turn->groups.groups[kept->group].class;

	/* A turn that was stopped ends with a block, where the next had hardly begun. */
	if (kept->time_ns >= run->turn->end_ns - run->turn->start_ns)
		return false;
	return kept->is_late || class == OFF_CLASS_DISABLED || class == OFF_CLASS_HANDLER;
}

/* drop_others - keep what counts, and add it to its groups */
static void drop_others(struct off_run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->turn->count; i++) {
		struct off_kept *kept = &run->turn->kept[i];
		struct off_group *group = &run->turn->groups.groups[kept->group];

		if (!counts(run, kept))
			continue;
		group->stretches++;
		group->points += kept->points;
		if (kept->late_ns >= run->turn->plan->period_ns) {
			group->lasting++;
			group->seen_ns += kept->late_ns;
		}
		if (kept->late_ns > group->longest_ns)
			group->longest_ns = kept->late_ns;
		off_turn_move(run->turn, count++, i);
	}
	run->turn->count = count;
}

static void send_repetitions(const struct off_run *run)
{
	const struct wire_bench_off *plan = run->turn->plan;
	struct child_context *context = run->turn->context;
	size_t cpus = plan->cpus.count, blocks = run->turn->blocks;
	uint64_t (*sums)[OFF_CLASS_COUNT] = calloc(cpus * blocks, sizeof(*sums));

	for (size_t i = 0; sums && i < run->turn->count; i++) {
		const struct off_kept *kept = &run->turn->kept[i];
		size_t block = (size_t)(kept->time_ns / plan->block_ns);

		sums[(block < blocks ? block : blocks - 1) * cpus + kept->place]
		    [run->turn->groups.groups[kept->group].class] += kept->points;
	}
	for (size_t i = 0; sums && i < cpus * blocks; i++)
		REPORT(context, off_repetition, OFF_REPETITION, .turn = context->turn,
		       .repetition = (uint16_t)(i / cpus), .place = (uint16_t)(i % cpus),
		       .cpu = wire_list_u16(plan->cpus, i % cpus),
		       .ns = off_turn_block_ns(run->turn, i / cpus),
		       .points = off_turn_block_ns(run->turn, i / cpus) / plan->period_ns,
		       .disabled = sums[i][OFF_CLASS_DISABLED],
		       .handler = sums[i][OFF_CLASS_HANDLER], .user = sums[i][OFF_CLASS_USER],
		       .unknown = sums[i][OFF_CLASS_UNKNOWN]);
	free(sums);
}

static void send_cpus(const struct off_run *run, struct child_context *context)
{
	for (size_t i = 0; i < run->turn->plan->cpus.count; i++) {
		const struct sampled_cpu *cpu = sampled_cpu_of(&run->sampled, i);
		const struct sampled_usual *usual = &run->sampled.usual[i];

		REPORT(context, off_cpu, OFF_CPU, .turn = context->turn, .place = (uint16_t)i,
		       .cpu = wire_list_u16(run->turn->plan->cpus, i), .samples = cpu->samples,
		       .lost = cpu->lost + run->lost[i], .usual_ns = usual->usual_ns,
		       .limit_ns = usual->limit_ns, .without_ns = usual->without_ns,
		       .with_ns = usual->with_ns);
	}
}

/* report - report all that was seen; returns 0, or an errno with the text */
static int report(struct off_run *run)
{
	struct off_turn *turn = run->turn;
	struct caller_names names;

	if (!off_groups_judge(&turn->groups, &names))
		return fail(turn->context->text, ENOMEM, "no memory for the names of callers");
	drop_others(run);
	send_cpus(run, turn->context);
	off_groups_send(&turn->groups, &names, turn->context);
	off_turn_send_longest(turn);
	off_turn_send_stretches(turn);
	send_repetitions(run);
	caller_names_close(&names);
	return 0;
}

/* ---------------------------------------------------------------- a turn */

static int sample_blocks(struct off_run *run)
{
	struct off_turn *turn = run->turn;
	int error = sampled_start(&run->sampled, turn->context->text);

	if (error)
		return error;
	thread_schedule(SCHED_FIFO, OFF_PRIORITY);
	off_turn_begin(turn);
	while (off_turn_sleep(turn, OFF_LOOK_NS))
		read_all(run);
	sampled_stop(&run->sampled);
	read_all(run);
	thread_schedule(SCHED_OTHER, 0);
	return report(run);
}

int off_turn_sample(struct off_turn *turn, const char *why)
{
	const struct wire_bench_off *plan = turn->plan;
	const struct sampled_plan sampled = {.what = (enum off_what)plan->what,
					     .period_ns = plan->period_ns,
					     .cpus = plan->cpus,
					     .counters = (uint32_t)turn->context->wanted->count};
	struct off_run run = {.turn = turn};
	char how[FAILURE_TEXT];
	int error;

	run.lost = calloc(plan->cpus.count, sizeof(*run.lost));
	run.open = calloc(plan->cpus.count, sizeof(*run.open));
	error = run.lost && run.open ? sampled_open(&run.sampled, &sampled, turn->context->text)
				     : fail(turn->context->text, ENOMEM, "no memory for samples");
	if (!error) {
		snprintf(how, sizeof(how), "%.300s%s", why,
			 *why && run.sampled.has_rings ? "; by perf's own records, without BPF"
						       : "");
		off_turn_send_method(turn, OFF_METHOD_SAMPLED, how);
		error = off_turn_count(turn, sampled_events(&run.sampled));
	}
	if (!error)
		error = sample_blocks(&run);
	sampled_close(&run.sampled);
	free(run.lost);
	free(run.open);
	return error;
}
