// SPDX-License-Identifier: MIT
/* Tasks in a ring, and the token that goes round. */
#ifndef WHYLATE_BENCHMARK_TOKEN_RING_H
#define WHYLATE_BENCHMARK_TOKEN_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"
#include "child.h"

struct token_ring;

/* What one block of a ring took, or one of a task alone. */
struct ring_block {
	uint64_t ns;
	uint64_t hops;
	uint64_t switches;
};

/* ring_open - start the tasks, which then wait; returns 0, or an errno with the context's text */
int ring_open(struct token_ring **ring, struct child_context *context,
	      const struct wire_bench_switch *plan);

/* ring_begin - wait until all tasks wait and have no identifier; false: a task has died */
bool ring_begin(struct token_ring *ring);

/* ring_round - pass the token round so often, and count; false: a task has died */
bool ring_round(struct token_ring *ring, uint64_t rounds, struct ring_block *block,
		struct counters *counters);

/* ring_while - the same while `go` is not 0, without counters; false: a task has died */
bool ring_while(struct token_ring *ring, const _Atomic int *go, struct ring_block *block);

/* ring_alone - pass a token to ourselves as often; false: that cannot be done */
bool ring_alone(struct token_ring *ring, uint64_t rounds, struct ring_block *block);

/* ring_end - end the tasks, and wait for them */
void ring_end(struct token_ring *ring);

#endif
