/* SPDX-License-Identifier: MIT */
/*
 * A counter that the clients of shared_read.h read as their device
 *
 * Its relaxed load may be satisfied early, as that of a device may where nothing prevents it.
 */
#ifndef REMEDIES_COUNTER_H
#define REMEDIES_COUNTER_H

#include "../shared_read.h"

struct counter {
	REMEDY_ATOMIC(shared_value) ticks;
};

static inline shared_value counter_read(void *device)
{
	struct counter *counter = (struct counter *)device;

	return REMEDY_LOAD(&counter->ticks, relaxed);
}

/* counter_tick - return the value that the counter has from now on */
static inline shared_value counter_tick(struct counter *counter)
{
	return REMEDY_ADD(&counter->ticks, (shared_value)1, relaxed) + 1;
}

#endif
