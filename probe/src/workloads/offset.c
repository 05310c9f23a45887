// SPDX-License-Identifier: MIT
/*
 * offset - how far the clock of one CPU is ahead of another's
 *
 * Two threads, each on its CPU, pass a line of the cache to and fro. The first reads the clock,
 * asks, and reads it again when the answer is there; the answer is what the second read in between.
 * Its clock is ahead by what it read minus the middle of the two readings, and that is wrong by at
 * most half of the time between them: of each block the quickest exchange is reported.
 */
#include <errno.h>
#include <pthread.h>
#include <remedy_atomic.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "benchmark/benchmark.h"
#include "clock.h"
#include "thread.h"

/* An answer comes within this time, or the second CPU does not run its thread. */
#define PATIENCE_NS (5ull * NS_PER_S)
/* Looks for an answer between two looks at how long it takes. */
#define LOOKS 1024
/* Looks before the CPU is told that this thread waits. An answer comes earlier where both CPUs run;
 * an emulator that runs one CPU after the other goes on with the other one then. */
#define EAGER_LOOKS 64

/* What is written by one CPU and read by the other has its own cache lines. */
struct offset_words {
	_Alignas(64) _Atomic uint64_t asked; /* the number of an exchange */
	uint64_t begin_ns;
	_Alignas(64) _Atomic uint64_t answered;
	uint64_t peer_ns;
	_Alignas(64) _Atomic int error;
};

struct offset_run {
	const struct wire_bench_offset *plan;
	struct offset_words words;
};

struct exchange {
	uint64_t begin_ns, peer_ns, end_ns;
};

/* changed - add the offset and the rate that are asked for to what the second CPU reads */
static uint64_t changed(const struct wire_bench_offset *plan, uint64_t ns)
{
	int64_t drift = (int64_t)(ns / NS_PER_S) * plan->drift_ppb +
			(int64_t)(ns % NS_PER_S) * plan->drift_ppb / NS_PER_S;

	return ns + (uint64_t)((int64_t)plan->shift_ns + drift);
}

static void *peer_main(void *argument)
{
	struct offset_run *run = argument;
	struct offset_words *words = &run->words;
	int error = thread_pin(run->plan->second);
	uint64_t answered = 0, looks = 0;

	atomic_store(&words->error, error);
	while (!error) {
		uint64_t asked = atomic_load_explicit(&words->asked, memory_order_acquire);

		if (asked == answered) {
			if (++looks >= EAGER_LOOKS)
				REMEDY_RELAX();
			continue;
		}
		looks = 0;
		words->peer_ns = changed(run->plan, clock_id_ns(run->plan->clock));
		answered = asked;
		atomic_store_explicit(&words->answered, answered, memory_order_release);
	}
	return NULL;
}

/* exchange - ask the second CPU for its reading; false: it does not answer */
static bool exchange(struct offset_run *run, struct exchange *made)
{
	struct offset_words *words = &run->words;
	uint64_t number = atomic_load_explicit(&words->asked, memory_order_relaxed) + 1, until_ns;

	made->begin_ns = clock_id_ns(run->plan->clock);
	/* The store needs the reading, so that it cannot come before it. */
	words->begin_ns = made->begin_ns;
	atomic_store_explicit(&words->asked, number, memory_order_release);
	for (until_ns = 0;;) {
		for (int i = 0; i < LOOKS; i++) {
			if (atomic_load_explicit(&words->answered, memory_order_acquire) !=
			    number) {
				if (until_ns || i >= EAGER_LOOKS)
					REMEDY_RELAX();
				continue;
			}
			made->end_ns = clock_id_ns(run->plan->clock);
			made->peer_ns = words->peer_ns;
			return true;
		}
		if (!until_ns)
			until_ns = clock_ns() + PATIENCE_NS;
		else if (clock_ns() > until_ns || atomic_load(&words->error))
			return false;
	}
}

static int repeat(struct offset_run *run, struct child_context *context, uint16_t number)
{
	uint64_t until_ns = clock_ns() + run->plan->block_ns, exchanges = 0;
	struct exchange made, best = {.end_ns = UINT64_MAX};

	counters_begin(&context->counters);
	do {
		if (!exchange(run, &made))
			return fail(context->text, ETIMEDOUT, "CPU %u does not answer: %s",
				    run->plan->second,
				    strerror(atomic_load(&run->words.error)
						 ? atomic_load(&run->words.error)
						 : ETIMEDOUT));
		exchanges++;
		/* A clock that was set meanwhile shows no time between the two. */
		if (made.end_ns >= made.begin_ns &&
		    made.end_ns - made.begin_ns < best.end_ns - best.begin_ns)
			best = made;
	} while (clock_ns() < until_ns);
	counters_end(&context->counters);
	if (best.end_ns == UINT64_MAX)
		return fail(context->text, EAGAIN, "the clock went back in each exchange");
	REPORT(context, offset_repetition, OFFSET_REPETITION, .turn = context->turn,
	       .repetition = number, .exchanges = exchanges, .begin_ns = best.begin_ns,
	       .peer_ns = best.peer_ns, .end_ns = best.end_ns);
	return child_report_counts(context, number);
}

static int run_plan(struct child_context *context, const void *asked)
{
	/* The peer runs until the process ends. */
	struct offset_run *run = aligned_alloc(64, sizeof(*run));
	struct timespec now;
	pthread_t peer;
	int error;

	if (!run)
		return fail(context->text, ENOMEM, "no memory for two threads");
	memset(run, 0, sizeof(*run));
	run->plan = asked;
	error = thread_pin(run->plan->first);
	if (error)
		return fail(context->text, error, "CPU %u cannot be used: %s", run->plan->first,
			    strerror(error));
	if (clock_gettime(run->plan->clock, &now))
		return fail(context->text, errno, "clock %u cannot be read: %s", run->plan->clock,
			    strerror(errno));
	error = thread_start(&peer, THREAD_ANY_CPU, peer_main, run);
	if (error)
		return fail(context->text, error, "no thread on the second CPU: %s",
			    strerror(error));
	for (uint16_t i = 0; i < run->plan->repetitions && !error; i++)
		error = repeat(run, context, i);
	return error;
}

static int start(struct workload *workload, const union wire_command *command)
{
	const struct wire_bench_offset *asked = &command->bench_offset;

	if (asked->first == asked->second ||
	    !benchmark_is_valid(asked->block_ns, asked->repetitions))
		return benchmark_refuse(workload);
	return benchmark_start(workload, asked->turn, run_plan, asked);
}

const struct workload_ops workload_offset = {
    .command = WIRE_BENCH_OFFSET, .start = start, BENCHMARK_OPS};
