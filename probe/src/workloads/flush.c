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
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "benchmark/benchmark.h"
#include "benchmark/flush_blocks.h"
#include "benchmark/shootdowns.h"
#include "clock.h"

static void touch(volatile uint8_t *bytes, size_t size, size_t page)
{
	for (size_t at = 0; at < size; at += page)
		bytes[at]++;
}

/* flush_once - make the translations of some pages invalid that are in use; returns 0 or an errno
 */
static int flush_once(const struct wire_bench_flush *plan, size_t page, uint8_t **kept)
{
	size_t bytes = plan->pages * page;
	uint8_t *pages =
	    *kept ? *kept
		  : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return errno;
	touch(pages, bytes, page);
	if (plan->operation == FLUSH_BY_MUNMAP)
		return munmap(pages, bytes) ? errno : 0;
	*kept = pages;
	/* Giving a right back needs no flush: one of the two calls does. */
	if (mprotect(pages, bytes, PROT_READ) || mprotect(pages, bytes, PROT_READ | PROT_WRITE))
		return errno;
	return 0;
}

static int call_until_stopped(struct flush_caller *caller)
{
	const struct wire_bench_flush *plan = caller->plan;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t due_ns = clock_ns(), calls = 0;
	uint8_t *kept = NULL;
	int error = 0;

	while (is_called(caller) && !error) {
		error = flush_once(plan, page, &kept);
		calls += !error;
		due_ns += plan->every_ns;
		while (clock_ns() < due_ns && is_called(caller))
			;
	}
	if (kept)
		munmap(kept, plan->pages * page);
	caller->calls = calls;
	return error;
}

static int start_callers(struct flush_blocks *blocks, struct child_context *context,
			 const struct wire_bench_flush *plan)
{
	int error;

	for (int i = 0; i < NO_CALLER; i++) {
		blocks->callers[i].plan = plan;
		blocks->callers[i].call = call_until_stopped;
	}
	/* The process first: a fork takes no threads along. */
	error = flush_caller_fork(&blocks->callers[OTHER_CALLER]);
	if (!error)
		error = flush_caller_thread(&blocks->callers[SHARED_CALLER]);
	return error ? fail(context->text, error, "no task that flushes: %s", strerror(error)) : 0;
}

static uint64_t read_shootdowns(const void *shootdowns)
{
	return shootdowns_read(shootdowns);
}

static int run_plan(struct child_context *context, const void *asked)
{
	const struct wire_bench_flush *plan = asked;
	const struct flush_blocks_plan blocks_plan = {.set_bytes = plan->set_bytes,
						      .block_ns = plan->block_ns,
						      .repetitions = plan->repetitions,
						      .caller = plan->caller,
						      .victim = plan->victim};
	struct flush_blocks blocks;
	struct shootdowns counted;
	struct flush_counts counts = {.read = read_shootdowns, .context = &counted};
	int error = flush_blocks_open(&blocks, context, &blocks_plan);

	if (!error)
		error = start_callers(&blocks, context, plan);
	if (!error)
		error = flush_blocks_begin(&blocks, context);
	if (error)
		return error;
	error = shootdowns_open(&counted, plan->victim);
	REPORT(context, flush_counting, FLUSH_COUNTING, .turn = context->turn, .error = error);
	error = flush_blocks_run(&blocks, context, &counts);
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
