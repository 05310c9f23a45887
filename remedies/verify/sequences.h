/* SPDX-License-Identifier: MIT */
/* sequences - all sequences of steps of a kind each, or random steps, for asid_sequences and
 * turns_sequences */
#ifndef REMEDIES_SEQUENCES_H
#define REMEDIES_SEQUENCES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MOST_DEPTH 16u

/* next_sequence - go on to the next of so many kinds; false after the last */
static inline bool next_sequence(uint32_t *kind, uint32_t depth, uint32_t kinds)
{
	uint32_t at = depth;

	for (; at && ++kind[at - 1] == kinds; at--)
		kind[at - 1] = 0;
	return at != 0;
}

/* wrong_after - report it, and return the status */
static inline int wrong_after(uint64_t steps)
{
	printf("wrong after %llu steps\n", (unsigned long long)steps);
	return 1;
}

static inline int wrong_after_kinds(const uint32_t *kind, uint32_t steps)
{
	printf("wrong after the steps");
	for (uint32_t i = 0; i < steps; i++)
		printf(" %u", kind[i]);
	printf("\n");
	return 1;
}

/* next_random - xorshift64 (Marsaglia 2003); not from 0 */
static inline uint64_t next_random(uint64_t random)
{
	random ^= random << 13;
	random ^= random >> 7;
	return random ^ random << 17;
}

#endif
