// SPDX-License-Identifier: MIT
/* Clocks that can be read in several ways. */
#ifndef WHYLATE_BENCHMARK_CLOCK_SOURCE_H
#define WHYLATE_BENCHMARK_CLOCK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "child.h"

struct clock_source {
	enum clock_method method;
	clockid_t id;
	const volatile uint8_t *registers;
	bool is_wide; /* the counter has 64 bits */
	double ns_per_tick;
	uint64_t resolution_ns;
};

/* clock_open - open a clock; returns 0, or an errno with the text */
int clock_open(struct clock_source *source, struct child_context *context, enum clock_method method,
	       clockid_t id);

/* clock_read - read a clock: ns, or ticks of a counter; nothing of the emulated device */
uint64_t clock_read(const struct clock_source *source);

/* clock_later - subtract two readings; negative: the second is earlier */
int64_t clock_later(const struct clock_source *source, uint64_t first, uint64_t second);

/* clock_makes_call - whether reading it is a system call: a child forbids itself the call and tries
 */
enum clock_calls clock_makes_call(const struct clock_source *source);

#endif
