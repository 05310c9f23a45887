// SPDX-License-Identifier: MIT
/* Seeds that differ in each turn: with equal seeds all turns would draw the same. */
#ifndef WHYLATE_BENCHMARK_SEED_H
#define WHYLATE_BENCHMARK_SEED_H

#include <stdint.h>

/* seed_of - mix the number of a turn and a number in it, below 65,536, as splitmix64 does (Steele,
 * Lea, Flood 2014) */
static inline uint64_t seed_of(uint64_t turn, uint64_t number)
{
	uint64_t mixed = 0x9E3779B97F4A7C15ull * (1 + (turn << 16) + number);

	mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
	mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
	return mixed ^ (mixed >> 31);
}

#endif
