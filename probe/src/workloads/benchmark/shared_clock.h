// SPDX-License-Identifier: MIT
/* A clock that many threads read in one form of remedies/shared_read.h. */
#ifndef WHYLATE_BENCHMARK_SHARED_CLOCK_H
#define WHYLATE_BENCHMARK_SHARED_CLOCK_H

#include <pthread.h>
#include <shared_read.h>

#include "clock_source.h"
#include "serial_device.h"

struct shared_clock {
	/* Waiting threads poll it. */
	_Alignas(64) struct shared_read shared;
	_Alignas(64) enum clock_form form;
	const struct clock_source *source;
	struct serial_device *device;
	struct shared_read_costs costs; /* of SHARED_READ_BATCH reads, in ns */
	pthread_mutex_t mutex;		/* of the form "locked" */
};

/* shared_clock_open - find what sharing costs; no other thread reads the clock yet */
void shared_clock_open(struct shared_clock *clock, enum clock_form form,
		       const struct clock_source *source, struct serial_device *device);

/* shared_clock_read - read it in its form; ns of CLOCK_MONOTONIC of the emulated device */
uint64_t shared_clock_read(struct shared_clock *clock);

#endif
