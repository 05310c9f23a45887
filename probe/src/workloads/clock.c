// SPDX-License-Identifier: MIT
/* clock - the cost of reading a clock in several threads at once, and whether it goes backwards */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "benchmark/benchmark.h"
#include "benchmark/clock_source.h"
#include "benchmark/seed.h"
#include "benchmark/serial_device.h"
#include "benchmark/shared_clock.h"
#include "clock.h"
#include "thread.h"

/* Readings between two checks for the end of a block. */
#define BATCH 64
/* The part of a block in which readings are compared: 1 / this. */
#define CHECKS_PART 4
/* The least timer slack, for the sleeps of the emulated device. */
#define LEAST_SLACK_NS 1ul

enum phase { READ_CLOCK, COMPARE };

struct clock_thread {
	struct clock_run *run;
	size_t index;
	pthread_t thread;
	uint64_t random;
	uint64_t ns, calls, checks, backward, most_backward;
	uint64_t all_calls, stale, most_stale_ns; /* of all repetitions; sampled before the call */
	/* Each thread writes to its own cache lines. */
	_Alignas(64) uint8_t end[64];
};

/* What is asked for. */
struct clock_plan {
	struct wire_bench_clock clock;
	bool in_a_form; /* of remedies/shared_read.h */
	enum clock_form form;
};

/* What all threads share. What is written while they measure has its own cache lines. */
struct clock_run {
	const struct wire_bench_clock *plan;
	struct shared_clock *shared; /* NULL: each thread reads by itself */
	struct clock_source source;
	struct serial_device device;
	struct clock_thread *threads;
	size_t started;
	pthread_barrier_t barrier;
	enum phase phase;      /* set before the barrier that lets all begin */
	_Atomic int pin_error; /* of any thread */
	_Alignas(64) _Atomic bool stop;
	_Alignas(64) _Atomic uint64_t last; /* the latest reading of any thread */
	_Alignas(64) _Atomic size_t running;
};

/* read_sampled - read the emulated device, and see whether the value is older than the call */
static void read_sampled(struct clock_thread *thread)
{
	uint64_t start_ns = clock_ns(), value = shared_clock_read(thread->run->shared);

	if (value >= start_ns)
		return;
	thread->stale++;
	if (start_ns - value > thread->most_stale_ns)
		thread->most_stale_ns = start_ns - value;
}

static void read_until_stopped(struct clock_thread *thread)
{
	struct clock_run *run = thread->run;
	bool is_device = run->source.method == CLOCK_BY_DEVICE;
	uint64_t calls = 0, start_ns = clock_ns();

	while (run->shared && !atomic_load_explicit(&run->stop, memory_order_relaxed)) {
		device_think(&run->device, &thread->random);
		if (is_device)
			read_sampled(thread);
		else
			shared_clock_read(run->shared);
		calls++;
	}
	while (!atomic_load_explicit(&run->stop, memory_order_relaxed)) {
		if (is_device) {
			device_think(&run->device, &thread->random);
			device_ask(&run->device, &thread->random);
			calls++;
			continue;
		}
		for (int i = 0; i < BATCH; i++)
			clock_read(&run->source);
		calls += BATCH;
	}
	thread->ns = clock_ns() - start_ns;
	thread->calls = calls;
	thread->all_calls += calls;
}

/*
 * compare - count how often this thread reads something earlier than another had read before
 *
 * The barrier keeps the order: the latest reading is fetched before the clock is read.
 */
static void compare(struct clock_thread *thread)
{
	struct clock_run *run = thread->run;

	while (!atomic_load_explicit(&run->stop, memory_order_relaxed)) {
		uint64_t seen = atomic_load(&run->last), now;
		int64_t later;

		atomic_thread_fence(memory_order_seq_cst);
		now = run->shared ? shared_clock_read(run->shared) : clock_read(&run->source);
		later = clock_later(&run->source, seen, now);
		thread->checks++;
		if (later < 0) {
			thread->backward++;
			if ((uint64_t)-later > thread->most_backward)
				thread->most_backward = (uint64_t)-later;
		}
		while (clock_later(&run->source, seen, now) > 0 &&
		       !atomic_compare_exchange_weak(&run->last, &seen, now))
			;
	}
}

static void *thread_main(void *argument)
{
	struct clock_thread *thread = argument;
	struct clock_run *run = thread->run;
	const struct wire_bench_clock *plan = run->plan;

	if (plan->cpus.count) {
		int error = thread_pin(wire_list_u16(plan->cpus, thread->index % plan->cpus.count));

		if (error)
			atomic_store(&run->pin_error, error);
	}
	prctl(PR_SET_TIMERSLACK, LEAST_SLACK_NS);
	do {
		/* All threads begin a phase together. */
		pthread_barrier_wait(&run->barrier);
		if (run->phase == READ_CLOCK)
			read_until_stopped(thread);
		else
			compare(thread);
		pthread_barrier_wait(&run->barrier);
	} while (true); /* it ends with the process */
	return NULL;
}

/* run_phase - let all threads measure for this long */
static void run_phase(struct clock_run *run, enum phase phase, uint64_t ns)
{
	run->phase = phase;
	atomic_store(&run->stop, false);
	pthread_barrier_wait(&run->barrier);
	clock_sleep_until(clock_ns() + ns);
	atomic_store(&run->stop, true);
	pthread_barrier_wait(&run->barrier);
}

/* is_common - whether readings of one thread can be compared with those of another */
static bool is_common(const struct clock_run *run)
{
	const struct clock_source *source = &run->source;

	return run->shared || source->method == CLOCK_BY_HPET ||
	       (source->method != CLOCK_BY_DEVICE && source->id != CLOCK_PROCESS_CPUTIME_ID &&
		source->id != CLOCK_THREAD_CPUTIME_ID);
}

static int repeat(struct clock_run *run, struct child_context *context, uint16_t number)
{
	const struct wire_bench_clock *plan = run->plan;

	for (size_t i = 0; i < plan->threads; i++) {
		struct clock_thread *thread = &run->threads[i];

		thread->checks = thread->backward = thread->most_backward = 0;
	}
	atomic_store(&run->device.free_ns, 0);
	counters_begin(&context->counters);
	run_phase(run, READ_CLOCK, plan->block_ns);
	counters_end(&context->counters);
	if (run->pin_error)
		return fail(context->text, run->pin_error, "a CPU cannot be used: %s",
			    strerror(run->pin_error));
	if (is_common(run)) {
		atomic_store(&run->last, run->shared ? shared_clock_read(run->shared)
						     : clock_read(&run->source));
		run_phase(run, COMPARE, plan->block_ns / CHECKS_PART);
	}
	for (size_t i = 0; i < plan->threads; i++) {
		const struct clock_thread *thread = &run->threads[i];

		REPORT(context, clock_repetition, CLOCK_REPETITION, .turn = context->turn,
		       .repetition = number, .thread = (uint16_t)i,
		       .cpu = plan->cpus.count ? wire_list_u16(plan->cpus, i % plan->cpus.count)
					       : UINT16_MAX,
		       .ns = thread->ns, .calls = thread->calls, .checks = thread->checks,
		       .backward = thread->backward,
		       .most_backward_ns =
			   (uint64_t)((double)thread->most_backward * run->source.ns_per_tick));
	}
	return child_report_counts(context, number);
}

static int start_threads(struct clock_run *run, struct child_context *context)
{
	int error = 0;

	for (; run->started < run->plan->threads && !error; run->started += !error) {
		struct clock_thread *thread = &run->threads[run->started];

		thread->run = run;
		thread->index = run->started;
		/* Not zero. */
		thread->random = seed_of(context->turn, run->started) | 1;
		error = thread_start(&thread->thread, THREAD_ANY_CPU, thread_main, thread);
	}
	if (error)
		return fail(context->text, error, "only %zu of %u threads could be started: %s",
			    run->started, run->plan->threads, strerror(error));
	return 0;
}

/* count_cpus - count the different CPUs of the threads */
static size_t count_cpus(const struct wire_bench_clock *plan)
{
	uint16_t allowed[WIRE_MOST_CLOCK_THREADS];
	size_t different = 0;

	if (!plan->cpus.count)
		return thread_cpus(allowed, WIRE_MOST_CLOCK_THREADS);
	for (size_t i = 0; i < plan->cpus.count; i++) {
		size_t before = 0;

		while (before < i &&
		       wire_list_u16(plan->cpus, before) != wire_list_u16(plan->cpus, i))
			before++;
		different += before == i;
	}
	return different;
}

/* report_sharing - what sharing costs, and how old values were in all repetitions */
static void report_sharing(const struct clock_run *run, struct child_context *context)
{
	const struct shared_read_costs *costs = &run->shared->costs;
	uint64_t calls = 0, stale = 0, most_ns = 0;

	for (size_t i = 0; i < run->plan->threads; i++) {
		const struct clock_thread *thread = &run->threads[i];

		calls += thread->all_calls;
		stale += thread->stale;
		most_ns = thread->most_stale_ns > most_ns ? thread->most_stale_ns : most_ns;
	}
	REPORT(context, clock_sharing, CLOCK_SHARING, .turn = context->turn,
	       .direct_ps = costs->direct * 1000 / SHARED_READ_BATCH,
	       .strict_ps = costs->strict * 1000 / SHARED_READ_BATCH,
	       .break_even_ps = costs->break_even * 1000 / SHARED_READ_BATCH,
	       .patience = run->shared->shared.patience,
	       .checks = run->source.method == CLOCK_BY_DEVICE ? calls : 0, .stale = stale,
	       .most_stale_ns = most_ns);
}

static int run_plan(struct child_context *context, const void *asked)
{
	const struct clock_plan *all = asked;
	const struct wire_bench_clock *plan = &all->clock;
	struct clock_run *run = aligned_alloc(64, sizeof(*run));
	struct shared_clock *shared = aligned_alloc(64, sizeof(*shared));
	struct clock_thread *threads = aligned_alloc(64, plan->threads * sizeof(*threads));
	int error;

	if (!run || !threads || !shared)
		return fail(context->text, ENOMEM, "no memory for %u threads", plan->threads);
	memset(run, 0, sizeof(*run));
	memset(threads, 0, plan->threads * sizeof(*threads));
	run->plan = plan;
	run->threads = threads;
	error = clock_open(&run->source, context, (enum clock_method)plan->method, plan->clock);
	if (error)
		return error;
	run->device.service_ns = plan->service_ns;
	run->device.think_ns = plan->think_ns;
	run->device.crowded = plan->threads > count_cpus(plan);
	REPORT(context, clock_properties, CLOCK_PROPERTIES, .turn = context->turn,
	       .system_call = (uint8_t)clock_makes_call(&run->source),
	       .resolution_ns = run->source.resolution_ns);
	if (all->in_a_form) {
		shared_clock_open(shared, all->form, &run->source, &run->device);
		run->shared = shared;
	}
	pthread_barrier_init(&run->barrier, NULL, (unsigned)plan->threads + 1);
	error = start_threads(run, context);
	/* Threads that still wait at a barrier end with the process. */
	for (uint16_t i = 0; i < plan->repetitions && !error; i++)
		error = repeat(run, context, i);
	if (!error && run->shared)
		report_sharing(run, context);
	return error;
}

static int start_plan(struct workload *workload, const struct clock_plan *plan)
{
	const struct wire_bench_clock *asked = &plan->clock;

	if (asked->method >= CLOCK_BY_COUNT || !asked->threads ||
	    asked->threads > WIRE_MOST_CLOCK_THREADS || asked->service_ns > WIRE_LONGEST_BLOCK_NS ||
	    asked->think_ns > WIRE_LONGEST_BLOCK_NS ||
	    !benchmark_is_valid(asked->block_ns, asked->repetitions) ||
	    asked->cpus.count > WIRE_MOST_CLOCK_THREADS)
		return benchmark_refuse(workload);
	return benchmark_start(workload, asked->turn, run_plan, plan);
}

static int start(struct workload *workload, const union wire_command *command)
{
	const struct clock_plan plan = {.clock = command->bench_clock};

	return start_plan(workload, &plan);
}

static int start_shared(struct workload *workload, const union wire_command *command)
{
	const struct wire_bench_shared_clock *asked = &command->bench_shared_clock;
	const struct clock_plan plan = {
	    .clock = {.turn = asked->turn,
		      .method = asked->method,
		      .threads = asked->threads,
		      .service_ns = asked->service_ns,
		      .think_ns = asked->think_ns,
		      .block_ns = asked->block_ns,
		      .repetitions = asked->repetitions,
		      .cpus = asked->cpus},
	    .in_a_form = true,
	    .form = (enum clock_form)asked->form,
	};

	if (asked->form >= FORM_COUNT ||
	    (asked->method != CLOCK_BY_DEVICE && asked->method != CLOCK_BY_HPET))
		return benchmark_refuse(workload);
	return start_plan(workload, &plan);
}

const struct workload_ops workload_clock = {
    .command = WIRE_BENCH_CLOCK, .start = start, BENCHMARK_OPS};

const struct workload_ops workload_shared_clock = {
    .command = WIRE_BENCH_SHARED_CLOCK, .start = start_shared, BENCHMARK_OPS};
