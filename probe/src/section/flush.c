// SPDX-License-Identifier: MIT
#include "flush.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache_line.h"
#include "failure.h"
#include "thread.h"

/* A flush comes after so long, from and to. */
#define LEAST_NS (500 * UINT64_C(1000))
#define MOST_NS	 (1500 * UINT64_C(1000))

/* ---------------------------------------------------------------- lines of the caches */

/* flush_line - drop a line from the instruction caches too, surely where these go by physical
 * addresses, for here it has another address than in the program; x86's are kept coherent */
static void flush_line(const char *line)
{
	cache_line_flush(line);
#if defined(__aarch64__)
	cache_line_wait();
	__asm__ volatile("ic ivau, %0" : : "r"(line) : "memory");
#endif
}

static void flush_end(void)
{
	cache_line_wait();
#if defined(__aarch64__)
	__asm__ volatile("isb" : : : "memory");
#endif
}

static void read_lines(const void *context)
{
	const struct section_flush *flush = context;

	for (uint32_t i = 0; i < flush->count; i++)
		*(const volatile char *)flush->lines[i];
}

static void flush_arm(const void *context, bool is_treated)
{
	const struct section_flush *flush = context;

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

	if (!CACHE_LINE_CAN_FLUSH)
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

int flush_start(struct section_flush *flush, struct section_cpu *cpu, char *text)
{
	int error;

	flush->armer = (struct armer){.apply = flush_arm,
				      .read = read_lines,
				      .context = flush,
				      .cpu = cpu,
				      .least_ns = LEAST_NS,
				      .most_ns = MOST_NS};
	error = armer_start(&flush->armer, THREAD_ANY_CPU);
	return error ? fail(text, error, "no thread to flush caches: %s", strerror(error)) : 0;
}

void flush_stop(struct section_flush *flush)
{
	armer_stop(&flush->armer);
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
