// SPDX-License-Identifier: MIT
/*
 * off - for how long interrupts or preemption are disabled: by the kernel's tracepoints where it
 * has them, else by samples
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "benchmark/benchmark.h"
#include "off_turn.h"
#include "sampled/sampled.h"

/* Loads are reported on this often. */
#define SESSION_MS 100

static int run_plan(struct child_context *context, const void *asked)
{
	const struct wire_bench_off *plan = asked;
	char why[FAILURE_TEXT] = "";
	struct off_turn turn;
	int error = off_turn_open(&turn, plan, context);

	if (error)
		return error;
	if (context->wanted->count > WIRE_MOST_OFF_COUNTS)
		return fail(context->text, E2BIG, "at most %u events can be counted of a stretch",
			    WIRE_MOST_OFF_COUNTS);
	/* What it takes ends with the process. */
	if (plan->method != OFF_METHOD_SAMPLED) {
		error = off_turn_trace(&turn);
		if (!error || error != ENOENT || plan->method == OFF_METHOD_TRACEPOINTS)
			return error;
		memcpy(why, context->text, sizeof(why));
	}
	return off_turn_sample(&turn, why);
}

static int start(struct workload *workload, const union wire_command *command)
{
	const struct wire_bench_off *asked = &command->bench_off;

	if (asked->what > OFF_PREEMPTION || asked->method >= OFF_METHOD_COUNT ||
	    asked->period_ns < WIRE_SHORTEST_SAMPLING_NS ||
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
					  .stop = child_workload_ask,
					  .abandon = child_workload_stop,
					  .wait_ms = wait_ms,
					  .input = child_workload_input};
