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
#include "benchmark/switch_trace.h"
#include "benchmark/token_ring.h"
#include "guardian/guardian.h"
#include "recorder/flight.h"

/* Even of large rings: each block has one round in which each task also reads its switches. */
#define LEAST_ROUNDS 16u
#define MOST_ROUNDS  (1ull << 32)
/* Real-time tasks sleep for 1 / this of a block: the kernel throttles those that run for more than
 * 95 % of a second, and on a single CPU no other task would run. */
#define REST_PART 4
/* Text of a switch in a trace, and of the flush that may come with it. */
#define SWITCH_BYTES 320

/* What is asked for. trace_bytes 0: no trace. */
struct switch_plan {
	struct wire_bench_switch ring;
	uint32_t trace_bytes;
};

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

/* ring_cpus - return how many of the CPUs the tasks use */
static size_t ring_cpus(const struct wire_bench_switch *plan)
{
	return plan->tasks < plan->cpus.count ? plan->tasks : plan->cpus.count;
}

/* open_reasons - count flushes of each reason but that of a switch; returns 0, or an errno with
 * none open */
static int open_reasons(struct flush_counter counters[FLUSH_REASONS], struct wire_list cpus,
			size_t count)
{
	int error = 0;

	for (int reason = FLUSH_ON_SWITCH + 1; reason < FLUSH_REASONS && !error; reason++)
		error = flushes_open(&counters[reason], cpus, count, reason);
	for (int reason = FLUSH_ON_SWITCH + 1; reason < FLUSH_REASONS && error; reason++)
		flushes_close(&counters[reason]);
	return error;
}

static void report_reasons(struct child_context *context, const uint64_t *flushes, int error)
{
	uint8_t room[8 * FLUSH_REASONS];

	REPORT(context, flush_reasons, FLUSH_REASONS, .turn = context->turn,
	       .flushes = wire_list_of_u64(room, flushes, error ? 0 : FLUSH_REASONS),
	       .error = error);
}

/* count_flushes - count TLB flushes in a block of their own, or report why they cannot be counted
 */
static bool count_flushes(struct token_ring *ring, struct child_context *context,
			  const struct wire_bench_switch *plan, uint64_t rounds)
{
	struct flush_counter counters[FLUSH_REASONS] = {{.count = 0}};
	uint64_t before[FLUSH_REASONS], flushes[FLUSH_REASONS] = {0};
	struct ring_block block = {0};
	struct counters none = {.count = 0};
	/* On the CPUs of the tasks alone; other threads there are counted too. */
	size_t cpus = ring_cpus(plan);
	int error = flushes_open(&counters[FLUSH_ON_SWITCH], plan->cpus, cpus, FLUSH_ON_SWITCH);
	int other = error ? error : open_reasons(counters, plan->cpus, cpus);
	bool went = true;

	if (!error) {
		for (int i = 0; i < FLUSH_REASONS; i++)
			before[i] = flushes_read(&counters[i]);
		went = ring_round(ring, rounds, &block, &none);
		for (int i = 0; i < FLUSH_REASONS; i++)
			flushes[i] = flushes_read(&counters[i]) - before[i];
	}
	for (int i = 0; i < FLUSH_REASONS; i++)
		flushes_close(&counters[i]);
	REPORT(context, switch_flushes, SWITCH_FLUSHES, .turn = context->turn, .hops = block.hops,
	       .switches = block.switches, .flushes = flushes[FLUSH_ON_SWITCH], .error = error);
	report_reasons(context, flushes, other);
	return went;
}

/* trace_switches - trace as many rounds as the text has room for, in a block of their own */
static bool trace_switches(struct token_ring *ring, struct child_context *context,
			   const struct switch_plan *plan, uint64_t rounds)
{
	uint64_t most = plan->trace_bytes / SWITCH_BYTES / plan->ring.tasks;
	struct ring_block block;
	struct counters none = {.count = 0};
	struct switch_trace trace;
	int error =
	    switch_trace_begin(&trace, plan->ring.cpus, ring_cpus(&plan->ring), plan->trace_bytes);
	bool went = true;

	most = most > LEAST_ROUNDS ? most : LEAST_ROUNDS;
	if (!error)
		went = ring_round(ring, rounds < most ? rounds : most, &block, &none);
	if (!error)
		error = switch_trace_end(&trace, context, plan->trace_bytes);
	if (error)
		REPORT(context, switch_trace, SWITCH_TRACE, .turn = context->turn, .error = error);
	return went;
}

static int run_ring(struct token_ring *ring, struct child_context *context,
		    const struct switch_plan *asked)
{
	const struct wire_bench_switch *plan = &asked->ring;
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
	if (!rounds || !count_flushes(ring, context, plan, rounds) ||
	    (asked->trace_bytes && !trace_switches(ring, context, asked, rounds)))
		return fail(context->text, EPIPE, "a task of the ring has ended");
	return 0;
}

static int run(struct child_context *context, const void *asked)
{
	const struct switch_plan *plan = asked;
	struct token_ring *ring = NULL;
	int error = ring_open(&ring, context, &plan->ring);

	if (!error)
		error = run_ring(ring, context, plan);
	if (ring && !error)
		ring_end(ring);
	/* Otherwise the tasks end with this process. */
	return error;
}

static int start_plan(struct workload *workload, const struct switch_plan *plan)
{
	const struct wire_bench_switch *asked = &plan->ring;

	if (asked->channel >= BY_COUNT || !asked->tasks || asked->tasks > WIRE_MOST_TASKS ||
	    asked->priority > 99 || !benchmark_is_valid(asked->block_ns, asked->repetitions) ||
	    asked->cpus.count > WIRE_MOST_CPUS || plan->trace_bytes > WIRE_MOST_TRACE_BYTES)
		return benchmark_refuse(workload);
	if (asked->priority && asked->block_ns > WIRE_LONGEST_REALTIME_BLOCK_NS)
		return fail(workload->text, EINVAL,
			    "invalid bench_switch: a block of real-time tasks takes 1 s at most");
	if (asked->set_bytes > SIZE_MAX / 8)
		return benchmark_refuse_size(workload, asked->set_bytes);
	return benchmark_start(workload, asked->turn, run, plan);
}

static int start(struct workload *workload, const union wire_command *command)
{
	const struct switch_plan plan = {.ring = command->bench_switch};

	return start_plan(workload, &plan);
}

static int start_traced(struct workload *workload, const union wire_command *command)
{
	const struct wire_bench_traced_switch *asked = &command->bench_traced_switch;
	const struct switch_plan plan = {
	    .ring = {.turn = asked->turn,
		     .tasks = asked->tasks,
		     .channel = asked->channel,
		     .threads = asked->threads,
		     .set_bytes = asked->set_bytes,
		     .block_ns = asked->block_ns,
		     .repetitions = asked->repetitions,
		     .priority = asked->priority,
		     .cpus = asked->cpus},
	    .trace_bytes = asked->trace_bytes,
	};

	/* A turn that is ended early leaves its instance of tracing. */
	int error = guardian_tracing(workload->context.flight->guardian, workload->text);

	return error ? error : start_plan(workload, &plan);
}

const struct workload_ops workload_switch = {
    .command = WIRE_BENCH_SWITCH, .start = start, BENCHMARK_OPS};

const struct workload_ops workload_traced_switch = {
    .command = WIRE_BENCH_TRACED_SWITCH, .start = start_traced, BENCHMARK_OPS};
