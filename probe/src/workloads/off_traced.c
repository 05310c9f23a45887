// SPDX-License-Identifier: MIT
/* A turn by tracepoints: sums, bins and groups of all stretches, and rows of the longer ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "activations/bins.h"
#include "activations/caller_names.h"
#include "clock.h"
#include "off_turn.h"
#include "thread.h"
#include "traced/traced.h"

/* What a CPU had when a block was over. */
struct reading {
	uint64_t time_ns;
	uint64_t total_ns;
};

struct off_run {
	struct off_turn *turn;
	struct traced traced;
	struct reading *readings; /* by block, from the start on, and place */
	size_t read;		  /* blocks */
	uint64_t *lost;		  /* by place: for want of memory */
};

/* ---------------------------------------------------------------- keeping */

static void read_rows(struct off_run *run)
{
	struct off_turn *turn = run->turn;
	struct traced_row row;

	for (size_t i = 0; i < turn->plan->cpus.count; i++)
		while (traced_next(&run->traced, i, &row)) {
			struct off_kept *kept = off_turn_add(turn, row.comm);

			if (!kept) {
				run->lost[i]++;
				continue;
			}
			kept->time_ns =
			    row.end_ns > turn->start_ns ? row.end_ns - turn->start_ns : 0;
			kept->late_ns = kept->points = row.took_ns;
			kept->place = (uint16_t)i;
			kept->pid = row.pid;
			kept->group = (uint16_t)row.group;
			if (turn->counted)
				*off_turn_counted(turn, kept) = row.counted;
		}
}

/* read_totals - note what all CPUs have: at the start, and at the end of each block */
static void read_totals(struct off_run *run)
{
	size_t cpus = run->turn->plan->cpus.count;

	for (size_t i = 0; i < cpus; i++) {
		struct reading *reading = &run->readings[run->read * cpus + i];

		reading->total_ns =
		    __atomic_load_n(&traced_cpu_of(&run->traced, i)->total_ns, __ATOMIC_RELAXED);
		reading->time_ns = clock_ns();
	}
	run->read++;
}

/* ---------------------------------------------------------------- the end */

/* join_groups - make the groups of all CPUs one table, and let what is kept point there */
static int join_groups(struct off_run *run)
{
	struct off_turn *turn = run->turn;
	size_t cpus = turn->plan->cpus.count;
	uint16_t (*numbers)[TRACED_GROUPS] = calloc(cpus, sizeof(*numbers));

	if (!numbers)
		return fail(turn->context->text, ENOMEM, "no memory for groups");
	for (size_t i = 0; i < cpus; i++)
		for (size_t at = 0; at < TRACED_GROUPS; at++) {
			const struct traced_group *from =
			    &traced_cpu_of(&run->traced, i)->groups[at];
			struct off_place place = {.kind = OFF_TRACED};
			struct off_group *group;

			if (!from->stretches)
				continue;
			memcpy(place.callers, from->ended, sizeof(from->ended));
			memcpy(place.began, from->began, sizeof(from->began));
			numbers[i][at] = at ? off_groups_of(&turn->groups, &place) : 0;
			group = &turn->groups.groups[numbers[i][at]];
			group->stretches += from->stretches;
			group->lasting += from->lasting;
			group->points += from->total_ns;
			group->seen_ns += from->seen_ns;
			if (from->longest_ns > group->longest_ns)
				group->longest_ns = from->longest_ns;
		}
	for (size_t i = 0; i < turn->count; i++)
		turn->kept[i].group =
		    numbers[turn->kept[i].place][turn->kept[i].group % TRACED_GROUPS];
	free(numbers);
	return 0;
}

static void send_cpus(const struct off_run *run)
{
	struct child_context *context = run->turn->context;
	const struct wire_bench_off *plan = run->turn->plan;

	for (size_t i = 0; i < plan->cpus.count; i++) {
		const struct traced_cpu *cpu = traced_cpu_of(&run->traced, i);
		bool is_first = i == 0;

		REPORT(context, off_cpu, OFF_CPU, .turn = context->turn, .place = (uint16_t)i,
		       .cpu = wire_list_u16(plan->cpus, i), .samples = cpu->stretches,
		       .work = is_first ? run->traced.work : 0, .unpaired = cpu->unpaired,
		       .lost = cpu->lost + run->lost[i],
		       .without_ns = is_first ? run->traced.without_ns : 0,
		       .with_ns = is_first ? run->traced.with_ns : 0);
	}
}

static void send_bins(const struct off_run *run)
{
	struct child_context *context = run->turn->context;
	static uint8_t data[WIRE_MAX_PAYLOAD];

	for (size_t i = 0; i < run->turn->plan->cpus.count; i++) {
		const struct traced_cpu *cpu = traced_cpu_of(&run->traced, i);
		uint16_t length, bins;
		uint64_t counts[WIRE_WAIT_BINS];

		memcpy(counts, cpu->bins, sizeof(counts));
		bins = bins_put(counts, data, &length);
		if (bins)
			REPORT(context, off_bins, OFF_BINS, .turn = context->turn,
			       .cpu = wire_list_u16(run->turn->plan->cpus, i), .bins = bins,
			       .data = {data, length});
	}
}

static void send_repetitions(const struct off_run *run)
{
	struct child_context *context = run->turn->context;
	size_t cpus = run->turn->plan->cpus.count;

	for (size_t i = 0; i + cpus < run->read * cpus; i++) {
		const struct reading *from = &run->readings[i], *to = &run->readings[i + cpus];

		REPORT(context, off_repetition, OFF_REPETITION, .turn = context->turn,
		       .repetition = (uint16_t)(i / cpus), .place = (uint16_t)(i % cpus),
		       .cpu = wire_list_u16(run->turn->plan->cpus, i % cpus),
		       .ns = to->time_ns - from->time_ns, .points = to->time_ns - from->time_ns,
		       .disabled = to->total_ns - from->total_ns);
	}
}

static int report(struct off_run *run)
{
	struct off_turn *turn = run->turn;
	struct caller_names names;
	int error = join_groups(run);

	if (error)
		return error;
	if (!off_groups_judge(&turn->groups, &names))
		return fail(turn->context->text, ENOMEM, "no memory for the names of callers");
	turn->groups.groups[0].class = OFF_CLASS_DISABLED;
	send_cpus(run);
	off_groups_send(&turn->groups, &names, turn->context);
	off_turn_send_longest(turn);
	off_turn_send_stretches(turn);
	send_bins(run);
	send_repetitions(run);
	caller_names_close(&names);
	return 0;
}

/* ---------------------------------------------------------------- a turn */

static int trace_blocks(struct off_run *run)
{
	struct off_turn *turn = run->turn;
	bool goes_on = true;

	thread_schedule(SCHED_FIFO, OFF_PRIORITY);
	traced_start(&run->traced);
	off_turn_begin(turn);
	read_totals(run);
	while (goes_on) {
		goes_on = off_turn_sleep(turn, OFF_LOOK_NS);
		read_rows(run);
		/* Of blocks that ended since, the first has all that is new. */
		while (run->read <= turn->blocks)
			read_totals(run);
	}
	traced_stop(&run->traced);
	read_rows(run);
	thread_schedule(SCHED_OTHER, 0);
	return report(run);
}

int off_turn_trace(struct off_turn *turn)
{
	const struct wire_bench_off *plan = turn->plan;
	const struct traced_plan traced = {.what = (enum off_what)plan->what,
					   .keep_ns = plan->period_ns,
					   .cpus = plan->cpus,
					   .counters = (uint32_t)turn->context->wanted->count};
	struct off_run run = {.turn = turn};
	int error;

	run.lost = calloc(plan->cpus.count, sizeof(*run.lost));
	run.readings = calloc(plan->cpus.count * (plan->repetitions + 1u), sizeof(*run.readings));
	error = run.lost && run.readings
		    ? traced_open(&run.traced, &traced, turn->context->text)
		    : fail(turn->context->text, ENOMEM, "no memory for stretches");
	if (!error) {
		off_turn_send_method(turn, OFF_METHOD_TRACEPOINTS, "");
		error = off_turn_count(turn, traced_events(&run.traced));
	}
	if (!error)
		error = trace_blocks(&run);
	traced_close(&run.traced);
	free(run.lost);
	free(run.readings);
	return error;
}
