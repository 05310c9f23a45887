// SPDX-License-Identifier: MIT
/*
 * A victim that works on one CPU, while callers on another do what flushes translations.
 *
 * Blocks come in random order: beside the shared caller, whose flushes the victim may pay for;
 * beside the other caller, which does the same without them; and beside none.
 */
#ifndef WHYLATE_BENCHMARK_FLUSH_BLOCKS_H
#define WHYLATE_BENCHMARK_FLUSH_BLOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"
#include "child.h"

/* Kinds of blocks, by who calls. */
#define SHARED_CALLER 0
#define OTHER_CALLER  1
#define NO_CALLER     2
#define FLUSH_BLOCKS  3

/* What is measured. set_bytes: what the victim reads. caller, victim: CPUs. */
struct flush_blocks_plan {
	uint64_t set_bytes, block_ns;
	uint16_t repetitions, caller, victim;
};

/* A caller: how it is started and stopped, and what it reports. In memory that processes share, and
 * that stays until the process ends, as the caller does. */
struct flush_caller {
	uint16_t cpu;
	const void *plan;
	struct child_context *context;
	/* open - make what calls need, on its CPU; returns 0 or an errno. NULL: they need nothing
	 */
	int (*open)(struct flush_caller *caller);
	/* call - call while is_called(), and set `calls`; returns 0 or an errno */
	int (*call)(struct flush_caller *caller);
	void *state; /* of the two */
	struct channel start;
	_Alignas(64) _Atomic uint32_t token;
	_Atomic int opened;
	_Alignas(64) _Atomic int go;
	_Alignas(64) _Atomic int working;
	_Alignas(64) uint64_t calls;
	_Atomic int error;
};

/* What is counted in each block: both may be NULL. */
struct flush_counts {
	uint64_t (*read)(const void *context);
	const void *context;
	/* Added to, by kind: the flushes for which the victim was interrupted. */
	uint64_t (*read_victim)(const void *context);
	const void *victim_context;
	uint64_t victim[FLUSH_BLOCKS];
};

struct flush_blocks {
	struct flush_blocks_plan plan;
	struct flush_caller *callers; /* SHARED_CALLER and OTHER_CALLER */
	const volatile uint8_t *set;
	size_t page;
	uint64_t steps; /* so that the work is not left out */
};

/* is_called - whether a caller is to go on */
static inline bool is_called(struct flush_caller *caller)
{
	return atomic_load_explicit(&caller->go, memory_order_relaxed);
}

/* flush_blocks_open - make two callers that are empty, and go to their CPU; returns 0, or an errno
 * with the context's text */
int flush_blocks_open(struct flush_blocks *blocks, struct child_context *context,
		      const struct flush_blocks_plan *plan);

/* flush_caller_fork - start a caller as a process, which ends with this one; returns 0 or an errno
 */
int flush_caller_fork(struct flush_caller *caller);

/* flush_caller_thread - start it as a thread of the victim's address space; returns 0 or an errno.
 * A fork takes no threads along. */
int flush_caller_thread(struct flush_caller *caller);

/* flush_blocks_begin - wait until the callers are ready, and make the victim, which is ourselves,
 * on its CPU; returns 0, or an errno with the context's text */
int flush_blocks_begin(struct flush_blocks *blocks, struct child_context *context);

/* flush_blocks_run - measure and report all repetitions; returns as a body does */
int flush_blocks_run(struct flush_blocks *blocks, struct child_context *context,
		     struct flush_counts *counts);

#endif
