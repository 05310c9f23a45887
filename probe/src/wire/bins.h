/* SPDX-License-Identifier: MIT */
/* The bins of durations, 16 an octave: block waits of the wire. */
#ifndef WHYLATE_WIRE_BINS_H
#define WHYLATE_WIRE_BINS_H

#include <stdint.h>

#include "wire/constants.h"

/* Bins in an octave; below that many nanoseconds each has a bin of its own. */
#define BINS_PARTS	16u
#define BINS_PARTS_BITS 4u

/* bins_find - return the bin of a duration; the last takes all that are longer */
static inline uint32_t bins_find(uint64_t ns)
{
	uint32_t octave, bin;

	if (ns < BINS_PARTS)
		return (uint32_t)ns;
	octave = 63u - (uint32_t)__builtin_clzll(ns);
	bin = (octave - BINS_PARTS_BITS + 1) * BINS_PARTS +
	      (uint32_t)(ns >> (octave - BINS_PARTS_BITS) & (BINS_PARTS - 1));
	return bin < WIRE_WAIT_BINS ? bin : WIRE_WAIT_BINS - 1;
}

/* bins_begin - return the shortest duration of a bin */
static inline uint64_t bins_begin(uint32_t bin)
{
	if (bin < BINS_PARTS)
		return bin;
	return (uint64_t)(BINS_PARTS + bin % BINS_PARTS) << (bin / BINS_PARTS - 1);
}

#endif
