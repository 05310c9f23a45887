// SPDX-License-Identifier: MIT
/*
 * Drawing the arm of the execution that begins next: a thread does something to the caches by
 * chance, and the hook of the section (bpf/treatment.h) draws one execution for each time.
 */
#ifndef WHYLATE_SECTION_ARMER_H
#define WHYLATE_SECTION_ARMER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "section/bpf/layout.h"

struct armer {
	/* Set before armer_start(). */
	void (*apply)(const void *context, bool is_treated);
	/* read what the treatment drives out of the caches: how long that takes checks it */
	void (*read)(const void *context);
	const void *context;
	/* What an execution of that arm is found by, and the arms where checks are counted. */
	struct section_cpu *cpu;
	/* It is done again after so long, from and to: drawn, so that it keeps step with nothing.
	 */
	uint64_t least_ns, most_ns;

	pthread_t thread;
	bool is_running;
	uint32_t is_over;
	uint64_t seed;
};

/* armer_start - begin, on a CPU or on THREAD_ANY_CPU; returns 0 or an errno */
int armer_start(struct armer *armer, int cpu);

/* armer_stop - end that, if it was started; no execution is drawn any more */
void armer_stop(struct armer *armer);

#endif
