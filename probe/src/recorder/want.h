// SPDX-License-Identifier: MIT
/* Which activations a measured thread wants the window of. */
#ifndef WHYLATE_RECORDER_WANT_H
#define WHYLATE_RECORDER_WANT_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "threshold.h"

/*
 * want - called by a measured thread for each of its activations
 *
 * own: what is late on this CPU alone. The threshold of all of them together comes in
 * above_ns, by one that may not get to run for long.
 */
static inline void want(struct recorder_want *want, struct threshold *own, uint16_t cpu,
			uint64_t index, uint64_t due_ns, int64_t latency_ns)
{
	uint64_t above_ns = __atomic_load_n(&want->above_ns, __ATOMIC_RELAXED);
	bool late = threshold_is_late(own, latency_ns) ||
		    (latency_ns > 0 && (uint64_t)latency_ns > above_ns);

	/* The first since it slept, where there are several: the window is as long as all. */
	if (!want->due_ns && (late || recorder_is_drawn(cpu, index, want->control_every)))
		__atomic_store_n(&want->due_ns, due_ns, __ATOMIC_RELAXED);
}

#endif
