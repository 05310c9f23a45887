// SPDX-License-Identifier: MIT
/*
 * Background loads: what competes with the measured threads.
 *
 * Every instance of a load runs in a process of its own, below the guardian, so that it shares
 * no address space with the measuring threads and dies with the run however the run ends.
 */
#ifndef WHYLATE_LOAD_H
#define WHYLATE_LOAD_H

#include <stdatomic.h>
#include <stdint.h>

#include "wire/constants.h"

/* One instance as the probe sees it; lives in memory shared by probe, guardian and load. */
struct load_slot {
	_Atomic uint64_t work; /* units of work done so far; only ever grows */
	_Atomic int32_t state; /* enum load_state */
	char message[160];     /* why it stopped; NUL-terminated, written before state */
};

struct load_context {
	struct load_slot *slot;
	char *const *argv; /* NULL-terminated; only for "cmd" */
};

struct load_kind {
	const char *name; /* as on the command line: "memory" */
	const char *unit; /* of slot->work: "bytes", "switches" */
	const char *what; /* one line for people */
	/*
	 * Works until it is killed, adding to slot->work at least ten times a second.
	 * Returns only when it can not go on, after load_fail().
	 */
	void (*run)(struct load_context *context);
};

/* All kinds, ended by one whose name is NULL. */
extern const struct load_kind load_kinds[];

/* load_find - the kind of that name, or NULL */
const struct load_kind *load_find(const char *name);

/* load_fail - report why this load stopped, printf-style */
void load_fail(struct load_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void load_count(struct load_context *context, uint64_t units)
{
	atomic_fetch_add_explicit(&context->slot->work, units, memory_order_relaxed);
}

#endif
