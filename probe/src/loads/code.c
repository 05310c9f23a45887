// SPDX-License-Identifier: MIT
/*
 * code - runs through 8 MiB of code on every CPU
 *
 * Stresses what lies between a CPU and its instructions: the instruction cache, the second-level
 * cache that it shares with data, and the TLB of instructions. Code that runs seldom, like that of
 * an interrupt, then finds none of its instructions there. Data is hardly touched, so that beside
 * the load `memory` this one says whether code or data was missed.
 *
 * The code is one function that returns at once, in every cache line. It is written, and then made
 * executable: a system that permits no memory to be both still runs it.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "kinds.h"
#include "workers.h"

#define CODE_BYTES (8u << 20)
/* The shortest line of the caches of any of these processors. */
#define LINE_BYTES 32u

#if defined(__x86_64__)
static const unsigned char return_code[] = {0xc3};
#elif defined(__aarch64__)
static const unsigned char return_code[] = {0xc0, 0x03, 0x5f, 0xd6};
#elif defined(__arm__)
/* bx lr */
static const unsigned char return_code[] = {0x1e, 0xff, 0x2f, 0xe1};
#else
#define NO_CODE
static const unsigned char return_code[] = {0};
#endif

/* make_code - map the functions; NULL with errno */
static char *make_code(void)
{
	char *area =
	    mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return NULL;
	for (size_t at = 0; at < CODE_BYTES; at += LINE_BYTES)
		memcpy(area + at, return_code, sizeof(return_code));
	__builtin___clear_cache(area, area + CODE_BYTES);
	return mprotect(area, CODE_BYTES, PROT_READ | PROT_EXEC) ? NULL : area;
}

/* run_through - call each function once */
static void run_through(char *area)
{
	for (size_t at = 0; at < CODE_BYTES; at += LINE_BYTES) {
		const char *place = area + at;
		void (*function)(void);

		/* ISO C converts no pointer to data into one to a function. */
		memcpy(&function, &place, sizeof(function));
		function();
	}
}

void load_code(struct load_context *context)
{
	/* Static, as threads may still read it when this function has returned. */
	static struct passes code = {.pass = run_through, .units = CODE_BYTES / LINE_BYTES};

#ifdef NO_CODE
	load_fail(context, "the load code has no code for this processor");
	return;
#endif
	code.area = make_code();
	if (!code.area) {
		load_fail(context, "cannot make 8 MiB of code: %s", strerror(errno));
		return;
	}
	workers_pass(context, &code);
}
