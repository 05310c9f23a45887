// SPDX-License-Identifier: MIT
/* The frequency of a CPU, measured, and what its counters count meanwhile. */
#ifndef WHYLATE_FREQUENCY_H
#define WHYLATE_FREQUENCY_H

#include <stdint.h>

/* Instructions in one chain, without those of its loop. */
#define FREQUENCY_CHAIN 100000u

/* The value of one counter: 0 without an error is a counter that does not count. */
struct count {
	int error; /* errno; EBUSY: other users had the hardware counter for a part of the time */
	uint64_t value;
};

struct counts {
	struct count cycles, instructions;
};

/* frequency_measure - measure the Hz of a CPU from the best of several short chains of instructions
 * that take a cycle each and wait for one another. 0 where the CPU cannot be run on; `counts` is
 * left alone then, and else holds the CPU's counters over one chain. Takes about 2 ms at 1 GHz. */
uint64_t frequency_measure(uint16_t cpu, struct counts *counts);

#endif
