// SPDX-License-Identifier: MIT
/* Ordering and drawing 64-bit numbers. */
#ifndef WHYLATE_NUMBERS_H
#define WHYLATE_NUMBERS_H

#include <stdint.h>

/* compare_u64 - for qsort(3): order elements by the uint64_t that they begin with */
static inline int compare_u64(const void *first, const void *second)
{
	uint64_t a = *(const uint64_t *)first, b = *(const uint64_t *)second;

	return (a > b) - (a < b);
}

/* draw_u64 - draw the next number; the state is never 0 (xorshift64, Marsaglia 2003) */
static inline uint64_t draw_u64(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
