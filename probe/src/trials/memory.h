// SPDX-License-Identifier: MIT
/* How fast memory of a stated kind is copied, set and read, and how long one read takes. */
#ifndef WHYLATE_TRIAL_MEMORY_H
#define WHYLATE_TRIAL_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "trial.h"

#define ANY_CPU 0xFFFF

enum memory_what { COPY, SET, READ, LATENCY, MEMORY_WHATS };
enum memory_routine { OF_LIBRARY, PLAIN_LOOP, MEMORY_ROUTINES };

struct memory_plan {
	enum memory_what what;
	enum buffer_content source;
	enum buffer_pages pages;
	enum memory_routine routine;
	size_t bytes;
	uint64_t block_ns;
	uint16_t repetitions;
	uint16_t cpu; /* or ANY_CPU */
};

/* memory_run - a trial_body */
int memory_run(struct trial_context *context, const void *plan);

#endif
