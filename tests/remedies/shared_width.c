// SPDX-License-Identifier: MIT
/*
 * shared_width BITS - are the values of a counter of BITS right over many wraps, in each form?
 *
 * The counter steps by less than half its period between two reads. Values are to be those of a
 * counter that never wraps, cut to the width of a value; so is one that was sampled before the last
 * published value. Built with SHARED_READ_32 values have 32 bits. Prints the bytes of a value, how
 * many were read, and how many were wrong.
 */
#include <stdio.h>
#include <stdlib.h>

#include "shared_read.h"

#define READS 100000u

static uint64_t count;

static shared_value read_counter(void *mask)
{
	return (shared_value)(count & *(uint64_t *)mask);
}

int main(int argc, char **argv)
{
	static shared_value (*const forms[])(struct shared_read *) = {
	    shared_read_strict, shared_read_relaxed, shared_read_nowait};
	uint32_t bits = (uint32_t)atoi(argv[argc - 1]);
	uint64_t mask = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
	uint64_t step = mask / 2 - mask / 64, back = step / 2;
	unsigned wrong = 0, reads = 0;

	for (uint32_t patience = 0; patience <= 10; patience += 10) {
		struct shared_read shared;

		/* The first value is extended from 0. */
		count = 0;
		shared_read_init(&shared, read_counter, &mask, bits, patience);
		for (unsigned i = 0; i < READS; i++) {
			count += step;
			wrong += forms[i % 3](&shared) != (shared_value)count;
			count -= back;
			wrong += shared_read_direct(&shared) != (shared_value)count;
			count += back;
			reads += 2;
		}
	}
	printf("%zu %u %u\n", sizeof(shared_value), reads, wrong);
	return 0;
}
