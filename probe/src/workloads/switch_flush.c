// SPDX-License-Identifier: MIT
/*
 * switch_flush - what a CPU pays for flushes where address spaces are switched on another CPU
 *
 * A victim works on one CPU. On another a token goes round a ring of tasks. In blocks of random
 * order they are processes, whose address spaces may be more than a CPU has identifiers for, so
 * that a switch flushes; threads of one process, which switch as well and flush nothing; or idle.
 * What the victim loses in the first beside the second is the price of the flushes.
 */
#include <errno.h>
#include <string.h>

#include "benchmark/benchmark.h"
#include "benchmark/flush_blocks.h"
#include "benchmark/flushes.h"
#include "benchmark/shootdowns.h"
#include "benchmark/token_ring.h"

/* open_ring - start the tasks, and let all wait; returns 0, or an errno that was reported with its
 * text, as the caller is a process of its own */
static int open_ring(struct flush_caller *caller)
{
	const struct wire_bench_switch *plan = caller->plan;
	struct token_ring *ring = NULL;
	int error = ring_open(&ring, caller->context, plan);

	if (!error && !ring_begin(ring))
		error = fail(caller->context->text, EPIPE, "a task of the ring has ended");
	if (error)
		child_report_failure(caller->context, error);
	caller->state = ring;
	return error;
}

static int pass_until_stopped(struct flush_caller *caller)
{
	struct ring_block block;

	if (!ring_while(caller->state, &caller->go, &block))
		return EPIPE;
	caller->calls = block.switches;
	return 0;
}

/* What flush_blocks_open() made, and the rings of the two callers. */
static int start_rings(struct flush_blocks *blocks, struct child_context *context,
		       struct wire_bench_switch rings[NO_CALLER])
{
	int error = 0;

	for (int i = 0; i < NO_CALLER && !error; i++) {
		rings[i].threads = i == OTHER_CALLER;
		blocks->callers[i].plan = &rings[i];
		blocks->callers[i].open = open_ring;
		blocks->callers[i].call = pass_until_stopped;
		error = flush_caller_fork(&blocks->callers[i]);
	}
	return error ? fail(context->text, error, "no tasks that switch: %s", strerror(error)) : 0;
}

static uint64_t read_flushes(const void *flushes)
{
	return flushes_read(flushes);
}

static uint64_t read_shootdowns(const void *shootdowns)
{
	return shootdowns_read(shootdowns);
}

static int run_blocks(struct flush_blocks *blocks, struct child_context *context,
		      struct wire_list callers_cpu)
{
	struct flush_counter flushes;
	struct shootdowns shootdowns;
	struct flush_counts counts = {.read = read_flushes,
				      .context = &flushes,
				      .read_victim = read_shootdowns,
				      .victim_context = &shootdowns};
	int error = flushes_open(&flushes, callers_cpu, 1, FLUSH_ON_SWITCH);
	int victim_error = shootdowns_open(&shootdowns, blocks->plan.victim);

	REPORT(context, flush_counting, FLUSH_COUNTING, .turn = context->turn, .error = error);
	error = flush_blocks_run(blocks, context, &counts);
	flushes_close(&flushes);
	shootdowns_close(&shootdowns);
	REPORT(context, victim_flushes, VICTIM_FLUSHES, .turn = context->turn,
	       .shared = counts.victim[SHARED_CALLER], .other = counts.victim[OTHER_CALLER],
	       .error = victim_error);
	return error;
}

static int run_plan(struct child_context *context, const void *asked)
{
	const struct wire_bench_switch_flush *plan = asked;
	const struct flush_blocks_plan blocks_plan = {.set_bytes = plan->set_bytes,
						      .block_ns = plan->block_ns,
						      .repetitions = plan->repetitions,
						      .caller = plan->caller,
						      .victim = plan->victim};
	uint8_t room[sizeof(uint16_t)];
	struct wire_list cpu = wire_list_of_u16(room, &plan->caller, 1);
	struct wire_bench_switch rings[NO_CALLER];
	struct flush_blocks blocks;
	int error;

	for (int i = 0; i < NO_CALLER; i++)
		rings[i] = (struct wire_bench_switch){.tasks = plan->tasks, .cpus = cpu};
	error = flush_blocks_open(&blocks, context, &blocks_plan);
	if (!error)
		error = start_rings(&blocks, context, rings);
	if (!error)
		error = flush_blocks_begin(&blocks, context);
	return error ? error : run_blocks(&blocks, context, cpu);
}

static int start(struct workload *workload, const union wire_command *command)
{
	const struct wire_bench_switch_flush *asked = &command->bench_switch_flush;

	if (asked->tasks < 2 || asked->tasks > WIRE_MOST_TASKS ||
	    asked->set_bytes > WIRE_LARGEST_FLUSH_SET || asked->caller == asked->victim ||
	    !benchmark_is_valid(asked->block_ns, asked->repetitions))
		return benchmark_refuse(workload);
	if (asked->block_ns > WIRE_LONGEST_REALTIME_BLOCK_NS)
		return fail(
		    workload->text, EINVAL,
		    "invalid bench_switch_flush: a block of a real-time victim takes 1 s at most");
	return benchmark_start(workload, asked->turn, run_plan, asked);
}

const struct workload_ops workload_switch_flush = {
    .command = WIRE_BENCH_SWITCH_FLUSH, .start = start, BENCHMARK_OPS};
