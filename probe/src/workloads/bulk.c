// SPDX-License-Identifier: MIT
/*
 * bulk - cleaning many lines of the cache under one lock, in chunks: what the chunk costs, and for
 * how long others wait
 *
 * The lock is a blocked signal, as a lock that disables interrupts blocks those. A timer sends it
 * again and again; the delay is from when it expired until the handler ran. Those count that expire
 * while lines are cleaned, and not while they are made dirty again without the lock. What the work
 * takes is timed in passes of its own, without the timer: what its signals cost is not the price of
 * letting go, and all at once hides most of them.
 */
#include <bulk_work.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "benchmark/benchmark.h"
#include "cache_line.h"
#include "clock.h"
#include "thread.h"

#define LINE	  64
#define PERIOD_NS 200000u
#define ANY_CPU	  0xFFFF
/* In a driver the lock keeps other programs off the CPU. They run between repetitions, and between
 * the passes of the tuner. */
#define PRIORITY     1
#define REST_NS	     20000000u
#define MOST_PASS_NS NS_PER_S
/* Delays that are kept of a repetition. */
#define MOST_DELAYS 400000u
/* Passes of each kind that the tuner times, and signals that show the floor. */
#define TUNER_PASSES 9
#define FLOOR_DELAYS 25
/* The tuner times the work in chunks of so many lines, and of one; then in chunks this many times
 * larger and smaller than these suggest, as after more lines a hold costs more. */
#define COARSE 512
#define NEAR   32
/* The least latency for which letting go costs at most this, in thousandths: of the 150 that it may
 * cost, less what figures vary by. */
#define MOST_COST_PERMILLE 140
/* Of the median. */
#define MEDIAN_PERMILLE 500

struct bulk_run {
	const struct wire_bench_bulk *plan;
	volatile uint8_t *memory;
	sigset_t lock;
	timer_t timer;
	uint64_t due_ns;
	volatile uint64_t began_ns; /* of the cleaning; UINT64_MAX: none goes on */
	uint64_t longest_ns;	    /* of a pass: CPU time, with making lines dirty */
	volatile size_t seen;
	uint64_t *delays; /* MOST_DELAYS */
};

/* expired - the signal stands for several expirations where it was blocked for more than a period
 */
static void expired(int number, siginfo_t *info, void *context)
{
	struct bulk_run *run = info->si_value.sival_ptr;
	uint64_t now_ns = clock_ns();

	(void)number;
	(void)context;
	for (int i = 0; i <= info->si_overrun; i++) {
		if (run->seen < MOST_DELAYS && run->due_ns >= run->began_ns)
			run->delays[run->seen++] = now_ns > run->due_ns ? now_ns - run->due_ns : 0;
		run->due_ns += PERIOD_NS;
	}
}

static void take(void *context)
{
	sigprocmask(SIG_BLOCK, &((struct bulk_run *)context)->lock, NULL);
}

static void give(void *context)
{
	sigprocmask(SIG_UNBLOCK, &((struct bulk_run *)context)->lock, NULL);
}

static void clean(void *context, uint64_t first, uint64_t end)
{
	const struct bulk_run *run = context;

	for (uint64_t i = first; i < end; i++)
		cache_line_flush(run->memory + i * LINE);
	cache_line_wait();
}

/* pass - make all lines dirty, clean them in chunks; add the time of the cleaning */
static uint64_t pass(struct bulk_run *run, uint64_t chunk, uint64_t *ns)
{
	struct bulk_work work = {
	    .context = run, .take = take, .give = give, .work = clean, .chunk = chunk};
	uint64_t start_ns = clock_thread_ns(), holds, took_ns;

	/* By a store to each: memset() may write past the cache. */
	for (uint64_t i = 0; i < run->plan->lines; i++)
		run->memory[i * LINE]++;
	cache_line_wait();
	run->began_ns = clock_ns();
	holds = bulk_work_run(&work, run->plan->lines);
	*ns += clock_ns() - run->began_ns;
	run->began_ns = UINT64_MAX;
	took_ns = clock_thread_ns() - start_ns;
	if (took_ns > run->longest_ns)
		run->longest_ns = took_ns;
	return holds;
}

/* check_pass - return 0, or an errno with the text where a pass kept other programs off for long */
static int check_pass(const struct bulk_run *run, struct child_context *context)
{
	if (run->longest_ns <= MOST_PASS_NS)
		return 0;
	return fail(context->text, ERANGE,
		    "cleaning %u lines took more than 1 s, in which other programs may not run: "
		    "use fewer --lines or a larger --chunk",
		    run->plan->lines);
}

/* set_timer - let it expire every PERIOD_NS from now on, or stop it */
static int set_timer(struct bulk_run *run, bool on)
{
	struct itimerspec times = {0};

	if (on) {
		run->due_ns = clock_ns() + 2 * PERIOD_NS;
		times.it_value = clock_timespec(run->due_ns);
		times.it_interval.tv_nsec = PERIOD_NS;
	}
	return timer_settime(run->timer, TIMER_ABSTIME, &times, NULL) ? errno : 0;
}

static int start_timer(struct bulk_run *run, struct child_context *context)
{
	struct sigaction action = {.sa_sigaction = expired, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
				 .sigev_signo = SIGALRM,
				 .sigev_value = {.sival_ptr = run}};
	int error = 0;

	sigemptyset(&run->lock);
	sigaddset(&run->lock, SIGALRM);
	if (sigaction(SIGALRM, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &run->timer))
		error = errno;
	if (!error)
		error = set_timer(run, true);
	return error ? fail(context->text, error, "no timer: %s", strerror(error)) : 0;
}

static int ascending(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static uint64_t median(uint64_t *ns)
{
	qsort(ns, TUNER_PASSES, sizeof(*ns), ascending);
	return ns[TUNER_PASSES / 2];
}

/* choose - time chunks of both sizes in turns, find the costs, and return the chunk; 0: the times
 * do not show the costs, or a pass took too long */
static uint64_t choose(struct bulk_run *run, uint64_t coarse, uint64_t fine,
		       struct bulk_costs *costs)
{
	uint64_t coarse_ns[TUNER_PASSES] = {0}, fine_ns[TUNER_PASSES] = {0};

	for (size_t i = 0; i < TUNER_PASSES; i++) {
		clock_sleep_until(clock_ns() + REST_NS);
		pass(run, coarse, &coarse_ns[i]);
		clock_sleep_until(clock_ns() + REST_NS);
		pass(run, fine, &fine_ns[i]);
		if (run->longest_ns > MOST_PASS_NS)
			return 0;
	}
	if (!bulk_work_fit(run->plan->lines, coarse, median(coarse_ns), fine, median(fine_ns),
			   costs))
		return 0;
	/* No latency is low enough: the chunk is the smallest that costs no more. */
	return bulk_work_choose(costs, 0, MEDIAN_PERMILLE, MOST_COST_PERMILLE).chunk;
}

/* tune - find the costs, and the chunk, while no timer runs */
static uint64_t tune(struct bulk_run *run, struct bulk_costs *costs)
{
	uint64_t lines = run->plan->lines, first, second;
	struct bulk_costs near;

	first = choose(run, lines < COARSE ? lines : COARSE, 1, costs);
	near = *costs;
	second = first ? choose(run, lines / NEAR < first ? lines : NEAR * first,
				first < NEAR ? 1 : first / NEAR, &near)
		       : 0;
	if (!second)
		return first;
	*costs = near;
	return second;
}

/* floor_ns - the median delay while there is no work */
static uint64_t floor_ns(struct bulk_run *run)
{
	run->seen = 0;
	run->began_ns = 0;
	while (run->seen < FLOOR_DELAYS)
		;
	run->began_ns = UINT64_MAX;
	qsort(run->delays, FLOOR_DELAYS, sizeof(*run->delays), ascending);
	return run->delays[FLOOR_DELAYS / 2];
}

static int repeat(struct bulk_run *run, struct child_context *context, uint16_t number,
		  uint64_t chunk)
{
	uint64_t half_ns = run->plan->block_ns / 2, ns = 0, passes = 0, holds = 0, ignored_ns = 0;
	uint64_t end_ns;
	size_t seen;
	int error = set_timer(run, false);

	/* First the work alone, then the delays. */
	counters_begin(&context->counters);
	end_ns = clock_ns() + half_ns;
	do {
		holds += pass(run, chunk, &ns);
		passes++;
	} while (clock_ns() < end_ns);
	counters_end(&context->counters);
	run->seen = 0;
	if (!error)
		error = set_timer(run, true);
	if (error)
		return fail(context->text, error, "no timer: %s", strerror(error));
	end_ns = clock_ns() + half_ns;
	do
		pass(run, chunk, &ignored_ns);
	while (clock_ns() < end_ns);
	error = check_pass(run, context);
	if (error)
		return error;
	take(run);
	seen = run->seen;
	qsort(run->delays, seen, sizeof(*run->delays), ascending);
	REPORT(context, bulk_repetition, BULK_REPETITION, .turn = context->turn,
	       .repetition = number, .ns = ns, .passes = passes, .holds = holds, .delays = seen,
	       .p50_ns = seen ? run->delays[seen / 2] : 0,
	       .p99_ns = seen ? run->delays[seen * 99 / 100] : 0,
	       .most_ns = seen ? run->delays[seen - 1] : 0);
	give(run);
	return child_report_counts(context, number);
}

static int run_plan(struct child_context *context, const void *asked)
{
	const struct wire_bench_bulk *plan = asked;
	struct bulk_run run = {.plan = plan, .began_ns = UINT64_MAX};
	struct bulk_costs costs = {0};
	uint64_t choice, chunk;
	int error = 0;

	if (plan->cpu != ANY_CPU)
		error = thread_pin(plan->cpu);
	/* Without the right to it, delays by other programs count too. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = PRIORITY});
	if (error)
		return fail(context->text, error, "CPU %u cannot be used: %s", plan->cpu,
			    strerror(error));
	run.delays = malloc(MOST_DELAYS * sizeof(*run.delays));
	run.memory = mmap(NULL, (size_t)plan->lines * LINE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (!run.delays || run.memory == MAP_FAILED)
		return fail(context->text, ENOMEM, "no memory for %u lines", plan->lines);
	if (!CACHE_LINE_CAN_FLUSH)
		return fail(context->text, EOPNOTSUPP,
			    "programs have no instruction to clean a line of this cache");
	error = start_timer(&run, context);
	if (error)
		return error;
	costs.floor = floor_ns(&run);
	error = set_timer(&run, false);
	if (error)
		return fail(context->text, error, "no timer: %s", strerror(error));
	/* A chunk that is given needs no costs. The tuner finds them without the timer, as the work
	 * is timed. */
	choice = plan->chunk ? 0 : tune(&run, &costs);
	error = check_pass(&run, context);
	if (error)
		return error;
	chunk = plan->chunk ? plan->chunk : choice;
	if (!chunk) {
		take(&run);
		return fail(context->text, EAGAIN,
			    "chunks of 1 line and of %u did not show what a line costs", COARSE);
	}
	REPORT(context, bulk_tuning, BULK_TUNING, .turn = context->turn, .floor_ns = costs.floor,
	       .item_ps = costs.item_milli, .gap_ns = costs.gap, .choice = choice, .chunk = chunk);
	for (uint16_t i = 0; i < plan->repetitions && !error; i++) {
		clock_sleep_until(clock_ns() + REST_NS);
		error = repeat(&run, context, i, chunk);
	}
	/* The timer goes on, and its handler writes to what ends here. */
	take(&run);
	return error;
}

static int start(struct workload *workload, const union wire_command *command)
{
	const struct wire_bench_bulk *asked = &command->bench_bulk;

	if (!asked->lines || asked->lines > WIRE_MOST_BULK_LINES ||
	    asked->chunk > WIRE_MOST_BULK_LINES ||
	    !benchmark_is_valid(asked->block_ns, asked->repetitions))
		return benchmark_refuse(workload);
	return benchmark_start(workload, asked->turn, run_plan, asked);
}

const struct workload_ops workload_bulk = {
    .command = WIRE_BENCH_BULK, .start = start, BENCHMARK_OPS};
