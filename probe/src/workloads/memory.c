// SPDX-License-Identifier: MIT
/* memory - how fast memory of a stated kind is copied, set and read, and how long one read takes */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "benchmark/benchmark.h"
#include "benchmark/buffer.h"
#include "clock.h"
#include "loads/memory_size.h"
#include "numbers.h"
#include "thread.h"

/* From one read of a chain to the next: a line of the cache, or more. */
#define LINE 64
/* Memory that the board keeps beside the buffers. */
#define LEFT_FREE ((uint64_t)16 << 20)
/* The overhead of buffers, as 1 / this: page tables, and their frames twice where they are counted.
 */
#define BESIDE 128u
/* Reads of a chain in a first try. */
#define FIRST_READS 4096u

#define ANY_CPU 0xFFFF

struct memory_run {
	const struct wire_bench_memory *plan;
	struct buffer source, target;
	bool has_source, has_target;
	const uint8_t *chain; /* the next read of it */
};

/* The compiler must neither replace a plain loop by a library call nor vectorize it. */
#define KEEP_PLAIN(word) __asm__ volatile("" : "+r"(word))
/* keep - keep the compiler from dropping what was written or read */
static inline void keep(const void *memory)
{
	__asm__ volatile("" : : "r"(memory) : "memory");
}

static void copy_plain(unsigned long *to, const unsigned long *from, size_t words)
{
	for (size_t i = 0; i < words; i++) {
		unsigned long word = from[i];

		KEEP_PLAIN(word);
		to[i] = word;
	}
}

static void set_plain(unsigned long *to, unsigned long word, size_t words)
{
	for (size_t i = 0; i < words; i++) {
		KEEP_PLAIN(word);
		to[i] = word;
	}
}

static unsigned long read_plain(const unsigned long *from, size_t words)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < words; i++) {
		unsigned long word = from[i];

		KEEP_PLAIN(word);
		sum += word;
	}
	return sum;
}

/* make_chain - let each line hold the address of another, in one cycle over all of them
 *
 * Sattolo (1986): a random permutation that is one cycle.
 */
static void make_chain(struct buffer *buffer)
{
	size_t lines = buffer->size / LINE;
	uint64_t state = 88172645463325252ull;

	for (size_t i = 0; i < lines; i++)
		*(uint8_t **)(buffer->bytes + i * LINE) = buffer->bytes + i * LINE;
	for (size_t i = lines - 1; i > 0; i--) {
		uint8_t **line = (uint8_t **)(buffer->bytes + i * LINE);
		uint8_t **other, *swapped;

		other = (uint8_t **)(buffer->bytes + (size_t)(draw_u64(&state) % i) * LINE);
		swapped = *line;
		*line = *other;
		*other = swapped;
	}
}

static void follow_chain(struct memory_run *run, uint64_t reads)
{
	const uint8_t *at = run->chain;

	while (reads--)
		at = *(uint8_t *const *)at;
	keep(at);
	run->chain = at;
}

/* pass - copy, set or read all bytes once */
static void pass(struct memory_run *run)
{
	const struct wire_bench_memory *plan = run->plan;
	size_t bytes = (size_t)plan->size, words = bytes / sizeof(unsigned long);
	bool plain = plan->routine == ROUTINE_PLAIN;
	void *to = run->target.bytes;
	const void *from = run->source.bytes;
	unsigned long sum;

	switch (plan->operation) {
	case MEMORY_COPY:
		if (plain)
			copy_plain(to, from, words);
		else
			memcpy(to, from, bytes);
		keep(to);
		break;
	case MEMORY_SET:
		if (plain)
			set_plain(to, 0x5A5A5A5Aul, words);
		else
			memset(to, 0x5A, bytes);
		keep(to);
		break;
	default:
		/* The library has no function that only reads: a search for an absent byte reads
		 * all bytes. */
		sum = plain ? read_plain(from, words)
			    : (unsigned long)(uintptr_t)memchr(from, ABSENT_BYTE, bytes);
		KEEP_PLAIN(sum);
	}
}

static uint64_t timed(struct memory_run *run, uint64_t passes)
{
	uint64_t start_ns = clock_ns();

	if (run->plan->operation == MEMORY_LATENCY)
		follow_chain(run, passes);
	else
		for (uint64_t i = 0; i < passes; i++)
			pass(run);
	return clock_ns() - start_ns;
}

/* passes_for - return how many passes take about the time of a block; touches all pages */
static uint64_t passes_for(struct memory_run *run)
{
	uint64_t block_ns = run->plan->block_ns;
	uint64_t passes = run->plan->operation == MEMORY_LATENCY ? FIRST_READS : 1;
	uint64_t ns = timed(run, passes);

	for (;;) {
		ns = timed(run, passes);
		if (ns >= block_ns)
			return passes;
		if (4 * ns >= block_ns)
			return (uint64_t)((double)passes * (double)block_ns / (double)ns) + 1;
		passes *= 2;
	}
}

static void report_backing(struct child_context *context, const struct buffer *buffer, bool after,
			   bool target)
{
	struct backing backing;

	buffer_backing(buffer, &backing);
	REPORT(context, memory_backing, MEMORY_BACKING, .turn = context->turn, .after = after,
	       .target = target, .pages = backing.pages, .present = backing.present,
	       .frames = backing.frames, .huge_bytes = backing.huge_bytes,
	       .hugetlb_bytes = backing.hugetlb_bytes, .error = backing.error);
}

static void report_backings(struct child_context *context, const struct memory_run *run, bool after)
{
	if (run->has_source)
		report_backing(context, &run->source, after, false);
	if (run->has_target)
		report_backing(context, &run->target, after, true);
}

static int open_buffers(struct memory_run *run, struct child_context *context)
{
	const struct wire_bench_memory *plan = run->plan;
	uint64_t there = memory_available_bytes();
	uint64_t wanted = (run->has_source + run->has_target) * plan->size;
	int error = 0;

	/* Pages of hugetlbfs are not among the free memory. */
	if (plan->pages != PAGES_HUGETLB && wanted + wanted / BESIDE + LEFT_FREE > there)
		return fail(context->text, ENOMEM,
			    "%llu MiB are more than the %llu MiB of free memory",
			    (unsigned long long)(wanted >> 20), (unsigned long long)(there >> 20));
	if (run->has_source)
		error =
		    buffer_open(&run->source, context, (size_t)plan->size,
				(enum buffer_pages)plan->pages, (enum buffer_content)plan->source);
	if (!error && run->has_target)
		error = buffer_open(&run->target, context, (size_t)plan->size,
				    (enum buffer_pages)plan->pages, CONTENT_RANDOM);
	if (!error && plan->operation == MEMORY_LATENCY) {
		make_chain(&run->source);
		run->chain = run->source.bytes;
	}
	return error;
}

static int run_plan(struct child_context *context, const void *asked)
{
	const struct wire_bench_memory *plan = asked;
	struct memory_run run = {.plan = plan,
				 .has_source = plan->operation != MEMORY_SET,
				 .has_target = plan->operation == MEMORY_COPY ||
					       plan->operation == MEMORY_SET};
	uint64_t passes;
	int error;

	error = plan->cpu == ANY_CPU ? 0 : thread_pin(plan->cpu);
	if (error)
		return fail(context->text, error, "CPU %u cannot be used: %s", plan->cpu,
			    strerror(error));
	error = open_buffers(&run, context);
	if (error)
		return error;
	passes = passes_for(&run);
	report_backings(context, &run, false);
	for (uint16_t i = 0; i < plan->repetitions && !error; i++) {
		uint64_t ns;

		counters_begin(&context->counters);
		ns = timed(&run, passes);
		counters_end(&context->counters);
		REPORT(context, memory_repetition, MEMORY_REPETITION, .turn = context->turn,
		       .repetition = i, .ns = ns, .passes = passes);
		error = child_report_counts(context, i);
	}
	report_backings(context, &run, true);
	return error;
}

static int start(struct workload *workload, const union wire_command *command)
{
	const struct wire_bench_memory *asked = &command->bench_memory;

	if (asked->operation >= MEMORY_COUNT || asked->source >= CONTENT_COUNT ||
	    asked->pages >= PAGES_COUNT || asked->routine >= ROUTINE_COUNT ||
	    asked->size < WIRE_SMALLEST_BUFFER ||
	    !benchmark_is_valid(asked->block_ns, asked->repetitions))
		return benchmark_refuse(workload);
	if (asked->size > SIZE_MAX / 8)
		return benchmark_refuse_size(workload, asked->size);
	return benchmark_start(workload, asked->turn, run_plan, asked);
}

const struct workload_ops workload_memory = {
    .command = WIRE_BENCH_MEMORY, .start = start, BENCHMARK_OPS};
