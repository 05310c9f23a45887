// SPDX-License-Identifier: MIT
#include "shared_clock.h"

#include <string.h>

#include "clock.h"

#define ROUNDS 64
/* Beyond it a read is not calibrated: sharing pays, and nobody waits for more than a few reads. */
#define LONGEST_CALIBRATED_NS 1000000u
#define POLLS_OF_LONG_READS   UINT32_MAX

static shared_value read_source(void *context)
{
	const struct shared_clock *clock = context;

	if (clock->source->method == CLOCK_BY_DEVICE)
		return device_sample(clock->device);
	return clock_read(clock->source);
}

void shared_clock_open(struct shared_clock *clock, enum clock_form form,
		       const struct clock_source *source, struct serial_device *device)
{
	memset(clock, 0, sizeof(*clock));
	clock->form = form;
	clock->source = source;
	clock->device = device;
	pthread_mutex_init(&clock->mutex, NULL);
	shared_read_init(&clock->shared, read_source, clock, source->is_wide ? 64 : 32,
			 POLLS_OF_LONG_READS);
	if (device->service_ns <= LONGEST_CALIBRATED_NS)
		clock->costs = shared_read_calibrate(&clock->shared, clock_ns, ROUNDS);
}

uint64_t shared_clock_read(struct shared_clock *clock)
{
	uint64_t value;

	switch (clock->form) {
	case FORM_RELAXED:
		return shared_read_relaxed(&clock->shared);
	case FORM_STRICT:
		return shared_read_strict(&clock->shared);
	case FORM_LOCKED:
		pthread_mutex_lock(&clock->mutex);
		value = shared_read_direct(&clock->shared);
		pthread_mutex_unlock(&clock->mutex);
		return value;
	default:
		return shared_read_direct(&clock->shared);
	}
}
