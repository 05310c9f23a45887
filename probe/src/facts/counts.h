// SPDX-License-Identifier: MIT
/* The cycles and instructions of a stretch of our own code, by the CPU's counters. */
#ifndef WHYLATE_COUNTS_H
#define WHYLATE_COUNTS_H

#include <stdint.h>

/* The value of one counter: 0 without an error is a counter that does not count. */
struct count {
	int error; /* errno of perf_event_open; EBUSY where others had the hardware for a part of it
		    */
	uint64_t value;
};

struct counts {
	struct count cycles, instructions;
};

/* The open counters; a negative one is an errno. */
struct counting {
	int cycles, instructions;
};

/* counts_start - count from now on what the calling thread does on one CPU
 *
 * In user mode alone where the hardware can distinguish modes. The thread has to stay on the CPU.
 */
void counts_start(struct counting *counting, uint16_t cpu);

/* counts_stop - stop counting, read what was counted, and close the counters */
void counts_stop(struct counting *counting, struct counts *counts);

#endif
