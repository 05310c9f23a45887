// SPDX-License-Identifier: MIT
/* What is late: the slowest part of all activations so far, or what is above a given limit. */
#ifndef WHYLATE_RECORDER_THRESHOLD_H
#define WHYLATE_RECORDER_THRESHOLD_H

#include <stdbool.h>
#include <stdint.h>

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

/* threshold_below - return a latency, ns, below which nothing that comes next is late */
uint64_t threshold_below(const struct threshold *threshold);

#endif
