// SPDX-License-Identifier: MIT
/*
 * Prints how many calls share nothing after each of the first times that a leader lost its CPU:
 * first with 2 reads that are shared in between, then once after 100.
 */
#include <stdio.h>

#include "shared_read.h"

#define TIMES 13

static shared_value read_device(void *unused)
{
	(void)unused;
	return 1;
}

/* lose - a leader loses its CPU, a caller its patience, and the leader is back; return how many
 * calls read directly then */
static unsigned lose(struct shared_read *shared)
{
	unsigned calls = 0, before;

	shared->sequence++;
	shared_read_strict(shared);
	shared->sequence++;
	for (;; calls++) {
		before = shared->sequence;
		shared_read_strict(shared);
		if (shared->sequence != before)
			return calls;
	}
}

int main(void)
{
	struct shared_read shared;

	shared_read_init(&shared, read_device, NULL, 64, 10);
	for (int time = 0; time < TIMES; time++)
		printf("%u ", lose(&shared));
	for (int call = 0; call < 100; call++)
		shared_read_strict(&shared);
	printf("%u\n", lose(&shared));
	return 0;
}
