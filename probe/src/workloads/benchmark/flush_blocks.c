// SPDX-License-Identifier: MIT
#include "flush_blocks.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "clock.h"
#include "seed.h"
#include "thread.h"

/* Steps of the victim between two looks at the clock. */
#define UNIT 2048
/* A caller begins and ends within this time, or its CPU does not run it. */
#define PATIENCE_NS (5ull * NS_PER_S)
/* It is ready within this time; looked at so often. */
#define OPEN_NS (120ull * NS_PER_S)
#define LOOK_NS NS_PER_MS
#define NO_CPU	"CPU %u cannot be used: %s"
/* Of the victim: a CPU that runs another program is not interrupted. Others run between blocks, for
 * 1 / this of a block. */
#define PRIORITY  1
#define REST_PART 4

/* What the victim did in a block. */
struct flush_block {
	uint64_t ns, units, calls, flushes;
};

/* ---------------------------------------------------------------- callers */

static void *caller_main(void *argument)
{
	struct flush_caller *caller = argument;
	int error = thread_pin(caller->cpu);

	if (!error && caller->open)
		error = caller->open(caller);
	atomic_store(&caller->error, error);
	atomic_store(&caller->opened, 1);
	/* It sleeps until it is started: its wakeups would cost the other caller time. */
	while (channel_wait(&caller->start)) {
		if (error)
			continue;
		atomic_store(&caller->working, 1);
		error = caller->call(caller);
		atomic_store(&caller->error, error);
		atomic_store(&caller->working, 0);
	}
	return NULL;
}

int flush_caller_fork(struct flush_caller *caller)
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

int flush_caller_thread(struct flush_caller *caller)
{
	pthread_t thread;

	return thread_start(&thread, THREAD_ANY_CPU, caller_main, caller);
}

int flush_blocks_open(struct flush_blocks *blocks, struct child_context *context,
		      const struct flush_blocks_plan *plan)
{
	int error;

	*blocks =
	    (struct flush_blocks){.plan = *plan, .page = (size_t)sysconf(_SC_PAGESIZE), .steps = 1};
	blocks->callers = mmap(NULL, NO_CALLER * sizeof(*blocks->callers), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (blocks->callers == MAP_FAILED)
		return fail(context->text, ENOMEM, "no memory that two processes share");
	for (int i = 0; i < NO_CALLER; i++) {
		struct flush_caller *caller = &blocks->callers[i];

		caller->cpu = plan->caller;
		caller->context = context;
		error = channel_open(&caller->start, BY_FUTEX, &caller->token);
		if (error)
			return fail(context->text, error, "no way to start a caller: %s",
				    strerror(error));
	}
	/* From here on, so that the other address space never comes to the victim's CPU. */
	error = thread_pin(plan->caller);
	return error ? fail(context->text, error, NO_CPU, plan->caller, strerror(error)) : 0;
}

/* ---------------------------------------------------------------- the victim */

/* wait_opened - sleep until the callers are ready; returns 0 or an errno */
static int wait_opened(struct flush_blocks *blocks)
{
	uint64_t until_ns = clock_ns() + OPEN_NS;

	for (int i = 0; i < NO_CALLER; i++) {
		while (!atomic_load(&blocks->callers[i].opened)) {
			if (clock_ns() > until_ns)
				return ETIMEDOUT;
			clock_sleep_until(clock_ns() + LOOK_NS);
		}
		if (atomic_load(&blocks->callers[i].error))
			return atomic_load(&blocks->callers[i].error);
	}
	return 0;
}

int flush_blocks_begin(struct flush_blocks *blocks, struct child_context *context)
{
	const struct flush_blocks_plan *plan = &blocks->plan;
	int error = wait_opened(blocks);

	if (error)
		return fail(context->text, error, NO_CPU, plan->caller, strerror(error));
	if (plan->set_bytes) {
		uint8_t *set = mmap(NULL, plan->set_bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (set == MAP_FAILED)
			return fail(context->text, ENOMEM, "no memory for what the victim reads");
		/* Small pages, each with a translation of its own. */
		madvise(set, plan->set_bytes, MADV_NOHUGEPAGE);
		memset(set, 0x5A, plan->set_bytes);
		blocks->set = set;
	}
	error = thread_pin(plan->victim);
	if (error)
		return fail(context->text, error, NO_CPU, plan->victim, strerror(error));
	/* Without the right to it, other programs on its CPU take a part of the flushes. */
	thread_schedule(SCHED_FIFO, PRIORITY);
	return 0;
}

/* work - do one unit of the victim's work: it reads a word of each page of the set in turn */
static uint64_t work(const struct flush_blocks *blocks, uint64_t at)
{
	uint64_t size = blocks->plan.set_bytes;

	for (int i = 0; i < UNIT; i++) {
		if (size) {
			at += blocks->page + 64;
			at = at < size ? at : at % size;
			(void)blocks->set[at];
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

/* start_caller - let it begin; returns 0 or an errno */
static int start_caller(struct flush_caller *caller)
{
	atomic_store(&caller->go, 1);
	channel_pass(&caller->start, 1);
	if (wait_for(&caller->working, 1))
		return 0;
	return atomic_load(&caller->error) ? atomic_load(&caller->error) : ETIMEDOUT;
}

/* stop_caller - let it end; returns 0 or an errno */
static int stop_caller(struct flush_caller *caller)
{
	atomic_store(&caller->go, 0);
	return wait_for(&caller->working, 0) ? atomic_load(&caller->error) : ETIMEDOUT;
}

/* ---------------------------------------------------------------- blocks */

/* read_victim - read how often the victim was interrupted to flush; 0: that is not counted */
static uint64_t read_victim(const struct flush_counts *counts)
{
	return counts->read_victim ? counts->read_victim(counts->victim_context) : 0;
}

/* run_block - let the victim work while a caller calls, or none does; returns 0 or an errno */
static int run_block(struct flush_blocks *blocks, int kind, struct flush_counts *counts,
		     struct flush_block *block)
{
	struct flush_caller *caller = kind == NO_CALLER ? NULL : &blocks->callers[kind];
	uint64_t before, victim_before, start_ns, end_ns, at = blocks->steps, units = 0;
	int error;

	clock_sleep_until(clock_ns() + blocks->plan.block_ns / REST_PART);
	before = counts->read(counts->context);
	victim_before = read_victim(counts);
	error = caller ? start_caller(caller) : 0;
	if (error)
		return error;
	start_ns = clock_ns();
	do {
		at = work(blocks, at);
		units++;
		end_ns = clock_ns();
	} while (end_ns - start_ns < blocks->plan.block_ns);
	blocks->steps = at;
	*block = (struct flush_block){.ns = end_ns - start_ns, .units = units};
	error = caller ? stop_caller(caller) : 0;
	if (error)
		return error;
	if (caller)
		block->calls = caller->calls;
	block->flushes = counts->read(counts->context) - before;
	counts->victim[kind] += read_victim(counts) - victim_before;
	return 0;
}

/* random_order - draw the order of the blocks of a repetition: each of the six is as likely */
static void random_order(uint64_t turn, uint64_t repetition, int order[FLUSH_BLOCKS])
{
	uint64_t random = seed_of(turn, repetition);

	for (int i = 0; i < FLUSH_BLOCKS; i++)
		order[i] = i;
	for (int i = FLUSH_BLOCKS - 1; i > 0; i--) {
		int other = (int)(random % (uint64_t)(i + 1)), moved = order[i];

		random /= (uint64_t)(i + 1);
		order[i] = order[other];
		order[other] = moved;
	}
}

static int repeat(struct flush_blocks *run, struct child_context *context, uint16_t number,
		  struct flush_counts *counts)
{
	struct flush_block blocks[FLUSH_BLOCKS];
	int order[FLUSH_BLOCKS], error = 0;

	random_order(context->turn, number, order);
	counters_begin(&context->counters);
	for (int i = 0; i < FLUSH_BLOCKS && !error; i++)
		error = run_block(run, order[i], counts, &blocks[order[i]]);
	counters_end(&context->counters);
	if (error)
		return fail(context->text, error, "CPU %u makes no flushes: %s", run->plan.caller,
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

int flush_blocks_run(struct flush_blocks *blocks, struct child_context *context,
		     struct flush_counts *counts)
{
	int error = 0;

	for (uint16_t i = 0; i < blocks->plan.repetitions && !error; i++)
		error = repeat(blocks, context, i, counts);
	return error;
}
