// SPDX-License-Identifier: MIT
/*
 * flush - what a CPU pays for translations that another CPU makes invalid
 *
 * A victim works on one CPU. On another a caller maps pages, touches them, and unmaps or protects
 * them: each call must flush translations wherever the address space is in use. In blocks of random
 * order the caller is a thread of the victim's address space; a process of its own, which makes the
 * same calls on memory that the victim's CPU has never touched; or idle. What the victim loses in
 * the first beside the second is the price of the flushes, and nothing of what both callers do to
 * caches and memory.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "benchmark/benchmark.h"
#include "benchmark/seed.h"
#include "benchmark/shootdowns.h"
#include "clock.h"
#include "thread.h"

/* Steps of the victim between two looks at the clock. */
#define UNIT 2048
/* Kinds of blocks, by who calls. */
#define SHARED_CALLER 0
#define OTHER_CALLER  1
#define NO_CALLER     2
#define BLOCKS	      3
/* A caller that waits looks for work this often. */
#define LOOK_NS 50000u
/* It begins and ends within this time, or its CPU does not run it. */
#define PATIENCE_NS (5ull * NS_PER_S)
#define NO_CPU	    "CPU %u cannot be used: %s"
/* Of the victim: a CPU that runs another program is not interrupted. Others run between blocks, for
 * 1 / this of a block. */
#define PRIORITY  1
#define REST_PART 4

/* A caller: how it is started and stopped, and what it reports. In memory that a process shares
 * too, and that stays until the process ends, as the caller does. */
struct caller {
	const struct wire_bench_flush *plan;
	size_t page;
	_Alignas(64) _Atomic int go;
	_Alignas(64) _Atomic int working;
	_Alignas(64) uint64_t calls;
	_Atomic int error;
};

struct flush_run {
	const struct wire_bench_flush *plan;
	struct caller *callers; /* SHARED_CALLER and OTHER_CALLER */
	const volatile uint8_t *set;
	size_t page;
	uint64_t steps; /* so that the work is not left out */
};

/* What the victim did in a block. */
struct flush_block {
	uint64_t ns, units, calls, flushes;
};

static uint8_t *map_pages(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void touch(volatile uint8_t *bytes, size_t size, size_t page)
{
	for (size_t at = 0; at < size; at += page)
		bytes[at]++;
}

/* flush_once - make the translations of some pages invalid that are in use; returns 0 or an errno
 */
static int flush_once(const struct caller *caller, uint8_t **kept)
{
	size_t bytes = caller->plan->pages * caller->page;
	uint8_t *pages = *kept ? *kept : map_pages(bytes);

	if (pages == MAP_FAILED)
		return errno;
	touch(pages, bytes, caller->page);
	if (caller->plan->operation == FLUSH_BY_MUNMAP)
		return munmap(pages, bytes) ? errno : 0;
	*kept = pages;
	/* Giving a right back needs no flush: one of the two calls does. */
	if (mprotect(pages, bytes, PROT_READ) || mprotect(pages, bytes, PROT_READ | PROT_WRITE))
		return errno;
	return 0;
}

static void call_until_stopped(struct caller *caller)
{
	uint64_t due_ns = clock_ns(), calls = 0;
	uint8_t *kept = NULL;
	int error = 0;

	atomic_store(&caller->working, 1);
	while (atomic_load_explicit(&caller->go, memory_order_relaxed) && !error) {
		error = flush_once(caller, &kept);
		calls += !error;
		due_ns += caller->plan->every_ns;
		while (clock_ns() < due_ns &&
		       atomic_load_explicit(&caller->go, memory_order_relaxed))
			;
	}
	if (kept)
		munmap(kept, caller->plan->pages * caller->page);
	caller->calls = calls;
	atomic_store(&caller->error, error);
	atomic_store(&caller->working, 0);
}

static void *caller_main(void *argument)
{
	struct caller *caller = argument;
	int error = thread_pin(caller->plan->caller);

	atomic_store(&caller->error, error);
	for (;;) {
		if (!error && atomic_load(&caller->go))
			call_until_stopped(caller);
		clock_sleep_until(clock_ns() + LOOK_NS);
	}
	return NULL;
}

/* start_other - start the caller that has an address space of its own; it ends with this process */
static int start_other(struct caller *caller)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		return errno;
	if (child)
		return 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		caller_main(caller);
	_exit(0);
}

/* work - do one unit of the victim's work: it reads a word of each page of the set in turn */
static uint64_t work(const struct flush_run *run, uint64_t at)
{
	uint64_t size = run->plan->set_bytes;

	for (int i = 0; i < UNIT; i++) {
		if (size) {
			at += run->page + 64;
			at = at < size ? at : at % size;
			(void)run->set[at];
		} else {
			at = at * 6364136223846793005u + 1442695040888963407u;
		}
	}
	return at;
}

static bool wait_for(const _Atomic int *word, int value)
{
	uint64_t until_ns = clock_ns() + PATIENCE_NS;

	while (atomic_load(word) != value)
		if (clock_ns() > until_ns)
			return false;
	return true;
}

/* run_block - let the victim work while a caller calls, or none does; returns 0 or an errno */
static int run_block(struct flush_run *run, int kind, const struct shootdowns *counted,
		     struct flush_block *block)
{
	struct caller *caller = kind == NO_CALLER ? NULL : &run->callers[kind];
	uint64_t before, start_ns, end_ns, at = run->steps, units = 0;

	clock_sleep_until(clock_ns() + run->plan->block_ns / REST_PART);
	before = shootdowns_read(counted);
	if (caller) {
		atomic_store(&caller->go, 1);
		if (!wait_for(&caller->working, 1))
			return atomic_load(&caller->error) ? atomic_load(&caller->error)
							   : ETIMEDOUT;
	}
	start_ns = clock_ns();
	do {
		at = work(run, at);
		units++;
		end_ns = clock_ns();
	} while (end_ns - start_ns < run->plan->block_ns);
	run->steps = at;
	*block = (struct flush_block){.ns = end_ns - start_ns, .units = units};
	if (caller) {
		atomic_store(&caller->go, 0);
		if (!wait_for(&caller->working, 0))
			return ETIMEDOUT;
		block->calls = caller->calls;
		if (atomic_load(&caller->error))
			return atomic_load(&caller->error);
	}
	block->flushes = shootdowns_read(counted) - before;
	return 0;
}

/* random_order - draw the order of the blocks of a repetition: each of the six is as likely */
static void random_order(uint64_t turn, uint64_t repetition, int order[BLOCKS])
{
	uint64_t random = seed_of(turn, repetition);

	for (int i = 0; i < BLOCKS; i++)
		order[i] = i;
	for (int i = BLOCKS - 1; i > 0; i--) {
		int other = (int)(random % (uint64_t)(i + 1)), moved = order[i];

		random /= (uint64_t)(i + 1);
		order[i] = order[other];
		order[other] = moved;
	}
}

static int repeat(struct flush_run *run, struct child_context *context, uint16_t number,
		  const struct shootdowns *counted)
{
	struct flush_block blocks[BLOCKS];
	int order[BLOCKS], error = 0;

	random_order(context->turn, number, order);
	counters_begin(&context->counters);
	for (int i = 0; i < BLOCKS && !error; i++)
		error = run_block(run, order[i], counted, &blocks[order[i]]);
	counters_end(&context->counters);
	if (error)
		return fail(context->text, error, "CPU %u makes no flushes: %s", run->plan->caller,
			    strerror(error));
	REPORT(context, flush_repetition, FLUSH_REPETITION, .turn = context->turn,
	       .repetition = number, .shared_ns = blocks[SHARED_CALLER].ns,
	       .shared_units = blocks[SHARED_CALLER].units,
	       .shared_calls = blocks[SHARED_CALLER].calls,
	       .shared_flushes = blocks[SHARED_CALLER].flushes, .other_ns = blocks[OTHER_CALLER].ns,
	       .other_units = blocks[OTHER_CALLER].units, .other_calls = blocks[OTHER_CALLER].calls,
	       .other_flushes = blocks[OTHER_CALLER].flushes, .idle_ns = blocks[NO_CALLER].ns,
	       .idle_units = blocks[NO_CALLER].units);
	return child_report_counts(context, number);
}

/* start_callers - the process first: a fork takes no threads along */
static int start_callers(struct flush_run *run, struct child_context *context)
{
	pthread_t thread;
	int error;

	for (int i = 0; i < NO_CALLER; i++) {
		run->callers[i].plan = run->plan;
		run->callers[i].page = run->page;
	}
	error = start_other(&run->callers[OTHER_CALLER]);
	if (!error)
		error = thread_start(&thread, THREAD_ANY_CPU, caller_main,
				     &run->callers[SHARED_CALLER]);
	return error ? fail(context->text, error, "no task that flushes: %s", strerror(error)) : 0;
}

static int run_plan(struct child_context *context, const void *asked)
{
	const struct wire_bench_flush *plan = asked;
	struct flush_run run = {.plan = plan, .page = (size_t)sysconf(_SC_PAGESIZE), .steps = 1};
	struct shootdowns counted;
	int error;

	run.callers = mmap(NULL, NO_CALLER * sizeof(*run.callers), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run.callers == MAP_FAILED)
		return fail(context->text, ENOMEM, "no memory that two processes share");
	/* From here on, so that the other address space never comes to the victim's CPU. */
	error = thread_pin(plan->caller);
	if (error)
		return fail(context->text, error, NO_CPU, plan->caller, strerror(error));
	error = start_callers(&run, context);
	if (error)
		return error;
	if (plan->set_bytes) {
		uint8_t *set = map_pages(plan->set_bytes);

		if (set == MAP_FAILED)
			return fail(context->text, ENOMEM, "no memory for what the victim reads");
		/* Small pages, each with a translation of its own. */
		madvise(set, plan->set_bytes, MADV_NOHUGEPAGE);
		memset(set, 0x5A, plan->set_bytes);
		run.set = set;
	}
	error = thread_pin(plan->victim);
	if (error)
		return fail(context->text, error, NO_CPU, plan->victim, strerror(error));
	/* Without the right to it, other programs on its CPU take a part of the flushes. */
	thread_schedule(SCHED_FIFO, PRIORITY);
	error = shootdowns_open(&counted, plan->victim);
	REPORT(context, flush_counting, FLUSH_COUNTING, .turn = context->turn, .error = error);
	error = 0;
	for (uint16_t i = 0; i < plan->repetitions && !error; i++)
		error = repeat(&run, context, i, &counted);
	shootdowns_close(&counted);
	return error;
}

static int start(struct workload *workload, const union wire_command *command)
{
	const struct wire_bench_flush *asked = &command->bench_flush;

	if (asked->operation >= FLUSH_BY_COUNT || !asked->pages ||
	    asked->pages > WIRE_MOST_FLUSH_PAGES || asked->set_bytes > WIRE_LARGEST_FLUSH_SET ||
	    asked->caller == asked->victim ||
	    !benchmark_is_valid(asked->block_ns, asked->repetitions))
		return benchmark_refuse(workload);
	if (asked->block_ns > WIRE_LONGEST_REALTIME_BLOCK_NS)
		return fail(workload->text, EINVAL,
			    "invalid bench_flush: a block of real-time threads takes 1 s at most");
	return benchmark_start(workload, asked->turn, run_plan, asked);
}

const struct workload_ops workload_flush = {
    .command = WIRE_BENCH_FLUSH, .start = start, BENCHMARK_OPS};
