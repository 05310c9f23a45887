// SPDX-License-Identifier: MIT
#include "flush.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "failure.h"
#include "thread.h"
#include "wire/bins.h"

/* A flush comes after so long, from and to: drawn, so that it keeps step with nothing. */
#define LEAST_NS (500 * UINT64_C(1000))
#define MOST_NS	 (1500 * UINT64_C(1000))
/* Of so many flushes one is followed by no execution of an arm, and it is looked at what it did. */
#define CHECKED_ONE_IN 5u
#define NOTHING_ARMED  0u

/* ---------------------------------------------------------------- lines of the caches */

#if defined(__x86_64__)
#define CAN_FLUSH true

/* flush_line - write a line back and drop it, from all caches of all CPUs */
static void flush_line(const char *line)
{
	__asm__ volatile("clflush (%0)" ::"r"(line) : "memory");
}

static void flush_end(void)
{
	__asm__ volatile("mfence" ::: "memory");
}
#elif defined(__aarch64__)
#define CAN_FLUSH true

/* flush_line - the same, and from the instruction caches: surely where these go by physical
 * addresses, for here it has another address than in the program */
static void flush_line(const char *line)
{
	__asm__ volatile("dc civac, %0\n\tdsb ish\n\tic ivau, %0" ::"r"(line) : "memory");
}

static void flush_end(void)
{
	__asm__ volatile("dsb ish\n\tisb" ::: "memory");
}
#else
#define CAN_FLUSH false

static void flush_line(const char *line)
{
	(void)line;
}

static void flush_end(void)
{
}
#endif

/* read_lines - read the lines of the code; returns how long that took */
static uint64_t read_lines(const struct section_flush *flush)
{
	uint64_t began_ns = clock_ns();

	for (uint32_t i = 0; i < flush->count; i++)
		*(const volatile char *)flush->lines[i];
	return clock_ns() - began_ns;
}

static void flush_arm(const struct section_flush *flush, bool is_treated)
{
	for (uint32_t i = 0; i < flush->count; i++)
		flush_line(is_treated ? flush->lines[i] : flush->others + i * WALK_LINE_BYTES);
	flush_end();
}

/* ---------------------------------------------------------------- planning */

/* has_hook - whether a breakpoint is put into a page of the file; end: too */
static bool has_hook(const struct user_code *code, uint64_t page, uint64_t page_bytes)
{
	const struct user_places *places[] = {&code->begin, &code->end};

	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < places[i]->count; j++)
			if (places[i]->at[j].offset / page_bytes == page)
				return true;
	return false;
}

/* find_lines - find the lines of the code that processes share; offset: of what is mapped */
static void find_lines(struct section_flush *flush, const struct user_code *code, uint64_t offset,
		       uint64_t page_bytes)
{
	uint64_t begin = code->begin.at[0].offset;
	uint64_t line = begin / WALK_LINE_BYTES * WALK_LINE_BYTES;

	for (; line < begin + code->bytes && flush->count < CODE_READS_MOST;
	     line += WALK_LINE_BYTES)
		if (!has_hook(code, line / page_bytes, page_bytes))
			flush->lines[flush->count++] = flush->code + (line - offset);
}

/* map_code - map the code, and memory of the placebo; returns 0, or an errno with the text */
static int map_code(struct section_flush *flush, const struct user_code *code, uint64_t page_bytes,
		    char *text)
{
	/* Lines in pages without a hook lie behind some that have one. */
	uint64_t most = CODE_READS_MOST * WALK_LINE_BYTES + 2 * page_bytes;
	uint64_t offset = code->begin.at[0].offset / page_bytes * page_bytes;
	uint64_t bytes = code->begin.at[0].offset + code->bytes - offset;
	void *mapped;

	flush->bytes = (size_t)(bytes < most ? bytes : most);
	mapped =
	    mmap(NULL, flush->bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, code->fd, (off_t)offset);
	if (mapped == MAP_FAILED)
		return fail(text, errno, "its code cannot be mapped: %s", strerror(errno));
	flush->code = mapped;
	mapped = mmap(NULL, CODE_READS_MOST * WALK_LINE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (mapped == MAP_FAILED)
		return fail(text, errno, "no memory for the placebo");
	flush->others = mapped;
	memset(flush->others, 1, CODE_READS_MOST * WALK_LINE_BYTES);
	find_lines(flush, code, offset, page_bytes);
	return 0;
}

int flush_plan(struct section_flush *flush, const struct user_code *code, char *text)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	int error;

	if (!CAN_FLUSH)
		return fail(text, EOPNOTSUPP,
			    "programs cannot flush caches on this architecture: it takes x86-64 "
			    "or arm64");
	if (!code->bytes)
		return fail(text, EOPNOTSUPP,
			    "what code lies in the section is not known, so that it cannot be "
			    "flushed: name one function, or two places in this order");
	error = map_code(flush, code, page_bytes, text);
	if (!error && !flush->count)
		error = fail(text, EOPNOTSUPP,
			     "all of its code lies in pages that have a hook: the kernel gives "
			     "each process a copy of those, which cannot be flushed from here");
	if (error)
		flush_close(flush);
	return error;
}

/* ---------------------------------------------------------------- the thread */

/* next_number - the next of a sequence of random numbers (xorshift64, Marsaglia 2003) */
static uint64_t next_number(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* check - read the code, and again after the flush of an arm: whether that drops its lines from
 * the caches of this CPU as well, where they surely were; is_counted: with how long that takes */
static void check(const struct section_flush *flush, bool is_treated, bool is_counted)
{
	uint64_t took_ns;

	read_lines(flush);
	flush_arm(flush, is_treated);
	took_ns = read_lines(flush);
	if (is_counted)
		flush->first->arms[is_treated].bins[bins_find(took_ns)]++;
}

static void *flush_often(void *argument)
{
	struct section_flush *flush = argument;
	uint64_t drawn[2] = {0}, checked[2] = {0}, looks = 0;
	__u64 *armed = &flush->first->armed;

	while (!__atomic_load_n(&flush->is_over, __ATOMIC_RELAXED)) {
		uint64_t number = next_number(&flush->seed);
		bool is_treated = number >> 63;

		clock_sleep_until(clock_ns() + LEAST_NS + number % (MOST_NS - LEAST_NS));
		/* No execution has begun since the last flush. */
		if (__atomic_load_n(armed, __ATOMIC_ACQUIRE) != NOTHING_ARMED)
			continue;
		if (++looks % CHECKED_ONE_IN == 0) {
			/* It brings the code back: the next execution is of neither arm. None has
			 * more checks than executions. */
			check(flush, is_treated, checked[is_treated] + 1 < drawn[is_treated]);
			checked[is_treated] += checked[is_treated] + 1 < drawn[is_treated];
			continue;
		}
		flush_arm(flush, is_treated);
		drawn[is_treated]++;
		__atomic_store_n(armed, is_treated ? EXECUTION_TREATED : EXECUTION_PLACEBO,
				 __ATOMIC_RELEASE);
	}
	__atomic_store_n(armed, NOTHING_ARMED, __ATOMIC_RELEASE);
	return NULL;
}

int flush_start(struct section_flush *flush, struct section_cpu *cpu, char *text)
{
	int error;

	flush->first = cpu;
	flush->seed = clock_ns() | 1;
	flush->is_over = 0;
	error = thread_start(&flush->thread, THREAD_ANY_CPU, flush_often, flush);
	if (error)
		return fail(text, error, "no thread to flush caches: %s", strerror(error));
	flush->is_running = true;
	return 0;
}

void flush_stop(struct section_flush *flush)
{
	if (!flush->is_running)
		return;
	__atomic_store_n(&flush->is_over, 1, __ATOMIC_RELAXED);
	pthread_join(flush->thread, NULL);
	flush->is_running = false;
}

void flush_close(struct section_flush *flush)
{
	flush_stop(flush);
	if (flush->code)
		munmap((void *)(uintptr_t)flush->code, flush->bytes);
	if (flush->others)
		munmap(flush->others, CODE_READS_MOST * WALK_LINE_BYTES);
	*flush = (struct section_flush){0};
}
