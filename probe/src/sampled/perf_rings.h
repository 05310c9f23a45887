// SPDX-License-Identifier: MIT
/*
 * Samples without BPF: the records of the perf events themselves, one ring for each CPU.
 *
 * When a sample was due follows from those before it. The kernel moves the event's timer on by
 * whole periods from its last expiry, to the first point that lies ahead: so all its points are of
 * one grid, for as long as the event is enabled, and each interrupt was due at the first point
 * behind the former one. Where in the period the grid lies is where most samples come, of which the
 * earliest counts as in time. While the idle thread has the CPU there are no samples, but the timer
 * goes on: records of switches say until when that was.
 */
#ifndef WHYLATE_SAMPLED_PERF_RINGS_H
#define WHYLATE_SAMPLED_PERF_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampled/bpf/layout.h"
#include "sampled/kernel_code.h"

/* Samples by which the grid is found. */
#define GRID_SAMPLES 64u

/* Where the grid of a CPU lies. */
struct grid {
	uint64_t period_ns;
	bool is_known;
	uint64_t phase_ns; /* of a point, less than a period */
	uint64_t
	    before_ns; /* the timer last expired, or the idle thread had the CPU; 0: not known */
	uint64_t first_ns[GRID_SAMPLES];
	size_t count;
};

/* grid_find - find the grid by samples, at these times; false: most of them are elsewhere */
bool grid_find(struct grid *grid, uint64_t *times_ns, size_t count);

/* grid_due - return for when the interrupt was due whose sample came at a time: the first point
 * behind the former interrupt. Where the kernel may have skipped that while it handled the
 * former one, the next: a sample is never taken for later than it is. */
uint64_t grid_due(const struct grid *grid, uint64_t now_ns);

struct perf_ring {
	void *memory; /* mapped: a page of the kernel's, and the records */
	struct grid grid;
};

struct perf_rings {
	struct perf_ring *rings; /* by place */
	size_t count;
	uint32_t machine;
	struct kernel_code code;
	struct looked_at *looked_at; /* code at places, by address */
};

/* perf_rings_open - make room for CPUs; returns 0, or an errno with the text */
int perf_rings_open(struct perf_rings *rings, size_t count, uint64_t period_ns, uint32_t machine,
		    char *text);

/* perf_rings_event - open the event of a CPU at a place; returns its descriptor, or -1 with errno
 */
int perf_rings_event(struct perf_rings *rings, size_t place, uint16_t cpu, uint64_t period_ns);

/* perf_rings_restart - forget what came of all CPUs: the events are enabled again, with other grids
 */
void perf_rings_restart(struct perf_rings *rings);

/* perf_rings_gather - look at what came of a CPU, and write rows of what tells anything */
void perf_rings_gather(struct perf_rings *rings, size_t place, struct sampled_cpu *cpu);

void perf_rings_close(struct perf_rings *rings);

#endif
