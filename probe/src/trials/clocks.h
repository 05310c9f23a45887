// SPDX-License-Identifier: MIT
/* What it costs to read a clock, in several threads at once, and whether it ever goes backwards. */
#ifndef WHYLATE_TRIAL_CLOCKS_H
#define WHYLATE_TRIAL_CLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "clock_source.h"
#include "trial.h"

#define MOST_CLOCK_THREADS 1024u

struct clock_plan {
	clockid_t clock;
	enum clock_how how;
	size_t threads;
	uint64_t service_ns, think_ns; /* of the emulated device */
	uint64_t block_ns;
	uint16_t repetitions;
	size_t cpu_count;
	uint16_t cpus[MOST_CLOCK_THREADS];
};

/* clocks_run - a trial_body */
int clocks_run(struct trial_context *context, const void *plan);

#endif
