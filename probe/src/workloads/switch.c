// SPDX-License-Identifier: MIT
/*
 * switch - the cost of a context switch
 *
 * A token goes round a ring of tasks; the task that has it reads its working set. In alternating
 * blocks one task passes the token to itself as often, and also reads its working set: both kinds
 * of blocks meet the same interference. The kernel counts the switches, because a hop may be no
 * switch or several. TLB flushes are counted in a block of their own, as a tracepoint costs time.
 */
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "benchmark/benchmark.h"
#include "benchmark/flushes.h"
#include "benchmark/token_ring.h"

/* Even of large rings: each block has one round in which each task also reads its switches. */
#define LEAST_ROUNDS 16u
#define MOST_ROUNDS  (1ull << 32)
/* Real-time tasks sleep for 1 / this of a block: the kernel throttles those that run for more than
 * 95 % of a second, and on a single CPU no other task would run. */
#define REST_PART 4

/* rounds_for - return how many rounds take about that long; 0: the ring is broken */
static uint64_t rounds_for(struct token_ring *ring, uint64_t block_ns)
{
	struct ring_block block;
	struct counters none = {.count = 0};

	for (uint64_t rounds = LEAST_ROUNDS; rounds < MOST_ROUNDS; rounds *= 2) {
		if (!ring_round(ring, rounds, &block, &none))
			return 0;
		if (block.ns >= block_ns)
			return rounds;
		if (block.ns * 4 >= block_ns)
			return rounds * block_ns / block.ns + 1;
	}
	return MOST_ROUNDS;
}

static bool repeat(struct token_ring *ring, struct child_context *context, uint16_t number,
		   uint64_t rounds, int priority)
{
	struct ring_block round, alone;
	bool ring_first = number % 2 == 0;

	if (!ring_first && !ring_alone(ring, rounds, &alone))
		return false;
	if (!ring_round(ring, rounds, &round, &context->counters))
		return false;
	if (ring_first && !ring_alone(ring, rounds, &alone))
		return false;
	REPORT(context, switch_repetition, SWITCH_REPETITION, .turn = context->turn,
	       .repetition = number, .ring_ns = round.ns, .own_ns = alone.ns, .hops = round.hops,
	       .switches = round.switches);
	if (priority)
		clock_sleep_until(clock_ns() + (round.ns + alone.ns) / REST_PART);
	return true;
}

/* count_flushes - count TLB flushes in a block of their own, or report why they cannot be counted
 */
static bool count_flushes(struct token_ring *ring, struct child_context *context,
			  const struct wire_bench_switch *plan, uint64_t rounds)
{
	struct flush_counter counter;
	struct ring_block block = {0};
	struct counters none = {.count = 0};
	uint64_t flushes = 0;
	/* On the CPUs of the tasks alone; other threads there are counted too. */
	size_t cpus = plan->tasks < plan->cpus.count ? plan->tasks : plan->cpus.count;
	int error = flushes_open(&counter, plan->cpus, cpus);
	bool went = true;

	if (!error) {
		uint64_t before = flushes_read(&counter);

		went = ring_round(ring, rounds, &block, &none);
		flushes = flushes_read(&counter) - before;
		flushes_close(&counter);
	}
	REPORT(context, switch_flushes, SWITCH_FLUSHES, .turn = context->turn, .hops = block.hops,
	       .switches = block.switches, .flushes = flushes, .error = error);
	return went;
}

static int run_ring(struct token_ring *ring, struct child_context *context,
		    const struct wire_bench_switch *plan)
{
	uint64_t rounds = ring_begin(ring) ? rounds_for(ring, plan->block_ns) : 0;
	int error = 0;

	for (uint16_t i = 0; rounds && !error && i < plan->repetitions; i++) {
		if (!repeat(ring, context, i, rounds, plan->priority))
			rounds = 0;
		else
			error = child_report_counts(context, i);
	}
	if (error)
		return error;
	if (!rounds || !count_flushes(ring, context, plan, rounds))
		return fail(context->text, EPIPE, "a task of the ring has ended");
	return 0;
}

static int run(struct child_context *context, const void *plan)
{
	struct token_ring *ring = NULL;
	int error = ring_open(&ring, context, plan);

	if (!error)
		error = run_ring(ring, context, plan);
	if (ring && !error)
		ring_end(ring);
	/* Otherwise the tasks end with this process. */
	return error;
}

static int start(struct workload *workload, const union wire_command *command)
{
	const struct wire_bench_switch *asked = &command->bench_switch;

	if (asked->channel >= BY_COUNT || !asked->tasks || asked->tasks > WIRE_MOST_TASKS ||
	    asked->priority > 99 || !benchmark_is_valid(asked->block_ns, asked->repetitions) ||
	    asked->cpus.count > WIRE_MOST_CPUS)
		return benchmark_refuse(workload);
	if (asked->priority && asked->block_ns > WIRE_LONGEST_REALTIME_BLOCK_NS)
		return fail(workload->text, EINVAL,
			    "invalid bench_switch: a block of real-time tasks takes 1 s at most");
	if (asked->set_bytes > SIZE_MAX / 8)
		return benchmark_refuse_size(workload, asked->set_bytes);
	return benchmark_start(workload, asked->turn, run, asked);
}

const struct workload_ops workload_switch = {
    .command = WIRE_BENCH_SWITCH, .start = start, BENCHMARK_OPS};
