// SPDX-License-Identifier: MIT
#include "threshold.h"

#include <string.h>

/* How many times the requested number the bin at the edge may add. */
#define EDGE_AT_MOST 3u

/* As many more than the requested part may be late: a stall may come first. */
#define EVEN_IF_FEW 16u

/* The doubling at which a step is 1 ns. */
#define DOUBLING 6u

static unsigned bin_for(int64_t latency_ns)
{
	uint64_t value = latency_ns > 0 ? (uint64_t)latency_ns : 0;
	unsigned doubling;

	if (value < THRESHOLD_STEPS)
		return (unsigned)value;
	doubling = 63u - (unsigned)__builtin_clzll(value);
	return (doubling - DOUBLING) * THRESHOLD_STEPS + THRESHOLD_STEPS +
	       (unsigned)(value >> (doubling - DOUBLING) & (THRESHOLD_STEPS - 1));
}

void threshold_open(struct threshold *threshold, uint64_t limit_ns, uint32_t tail_ppm)
{
	memset(threshold, 0, sizeof(*threshold));
	threshold->limit_ns = limit_ns;
	threshold->tail_ppm = tail_ppm;
}

bool threshold_is_late(struct threshold *threshold, int64_t latency_ns)
{
	unsigned bin = bin_for(latency_ns);
	uint64_t allowed;

	if (threshold->limit_ns)
		return latency_ns > (int64_t)threshold->limit_ns;
	threshold->seen++;
	threshold->bins[bin]++;
	threshold->above += bin > threshold->edge;
	allowed = EVEN_IF_FEW + threshold->seen * threshold->tail_ppm / 1000000u;
	/* The edge rises with what lies above it, and falls as more are allowed to. */
	while (threshold->above > allowed)
		threshold->above -= threshold->bins[++threshold->edge];
	while (threshold->edge && threshold->above + threshold->bins[threshold->edge] <= allowed)
		threshold->above += threshold->bins[threshold->edge--];
	return bin > threshold->edge ||
	       (bin == threshold->edge && threshold->above + threshold->bins[bin] <=
					      allowed + EDGE_AT_MOST * (allowed - EVEN_IF_FEW));
}

uint64_t threshold_below(const struct threshold *threshold)
{
	unsigned edge = threshold->edge, doubling;

	if (threshold->limit_ns)
		return threshold->limit_ns;
	/* A bin's least value; the edge falls by a bin at a time at most. */
	if (edge)
		edge--;
	doubling = edge / THRESHOLD_STEPS;
	return doubling < 2
		   ? edge
		   : (uint64_t)(THRESHOLD_STEPS + edge % THRESHOLD_STEPS) << (doubling - 1);
}
