// SPDX-License-Identifier: MIT
/* Which activations are late: the slowest part of all so far, or those above a given limit. */
#ifndef WHYLATE_RECORDER_THRESHOLD_H
#define WHYLATE_RECORDER_THRESHOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

/* Counts by size: 64 steps to each doubling. */
#define THRESHOLD_STEPS 64u
#define THRESHOLD_BINS	(64u * THRESHOLD_STEPS)

struct threshold {
	uint64_t limit_ns; /* 0: by rank */
	uint32_t tail_ppm;
	uint64_t seen;
	uint64_t bins[THRESHOLD_BINS];
	uint64_t above; /* how many lie above the edge */
	unsigned edge;	/* the bin below which nothing is late */
};

void threshold_open(struct threshold *threshold, uint64_t limit_ns, uint32_t tail_ppm);

/*
 * threshold_is_late - count one activation, and return whether it is late
 *
 * By rank, it is late when it is among the slowest tail_ppm of those so far and 16 more, itself
 * included; all in the bin at the edge count, unless that makes far more of them.
 */
bool threshold_is_late(struct threshold *threshold, int64_t latency_ns);

/* threshold_below - return a latency, ns, below which no following activation is late */
uint64_t threshold_below(const struct threshold *threshold);

/*
 * threshold_want - called by a measured thread for each activation: ask the recorder to hold its
 * window, where it is late or drawn
 *
 * own: what is late on this CPU. The threshold over all CPUs arrives in above_ns, set by a thread
 * that may not run for long.
 */
static inline void threshold_want(struct recorder_want *want, struct threshold *own, uint16_t cpu,
				  uint64_t index, uint64_t due_ns, int64_t latency_ns)
{
	uint64_t above_ns = __atomic_load_n(&want->above_ns, __ATOMIC_RELAXED);
	bool late = threshold_is_late(own, latency_ns) ||
		    (latency_ns > 0 && (uint64_t)latency_ns > above_ns);

	/* Only the first of several since the thread slept: one window holds all of them. */
	if (!want->due_ns && (late || recorder_is_drawn(cpu, index, want->control_every)))
		__atomic_store_n(&want->due_ns, due_ns, __ATOMIC_RELAXED);
}

#endif
