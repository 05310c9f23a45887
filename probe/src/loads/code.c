// SPDX-License-Identifier: MIT
/*
 * code - runs through 8 MiB of code on every CPU
 *
 * Stresses what lies between a CPU and its instructions: the instruction cache, the second-level
 * cache that it shares with data, and the TLB of instructions. Code that runs seldom, like that of
 * an interrupt, then finds none of its instructions there. Data is hardly touched, so that beside
 * the load `memory` this one says whether code or data was missed.
 *
 * The code is one function that returns at once, in every cache line.
 */
#include <errno.h>
#include <string.h>

#include "code_area.h"
#include "kinds.h"
#include "workers.h"

#define CODE_BYTES (8u << 20)
/* The shortest line of the caches of any of these processors. */
#define LINE_BYTES 32u

/* run_through - call each function once */
static void run_through(char *area)
{
	code_area_call(area, CODE_BYTES / LINE_BYTES, LINE_BYTES);
}

void load_code(struct load_context *context)
{
	/* Static, as threads may still read it when this function has returned. */
	static struct passes code = {.pass = run_through, .units = CODE_BYTES / LINE_BYTES};

	code.area = code_area_make(CODE_BYTES, LINE_BYTES);
	if (!code.area && errno == EOPNOTSUPP) {
		load_fail(context, "the load code has no code for this processor");
		return;
	}
	if (!code.area) {
		load_fail(context, "cannot make 8 MiB of code: %s", strerror(errno));
		return;
	}
	workers_pass(context, &code);
}
