// SPDX-License-Identifier: MIT
#include "serial_device.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <time.h>

#include "clock.h"

/* So long is slept; for less, waking up would take a part of it that counts. */
#define SLEEP_FROM_NS 200000u
/* The last of a wait is not slept, for who sleeps wakes late by up to about this. */
#define AWAKE_NS 100000u

/* exponential - draw from the distribution of that mean (xorshift64 by Marsaglia, 2003) */
static uint64_t exponential(uint64_t mean_ns, uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (uint64_t)(-log(((double)(*random >> 11) + 0.5) / 9007199254740992.0) *
			  (double)mean_ns);
}

/* wait_until - wait; mean_ns: how long such waits are on average */
static void wait_until(const struct serial_device *device, uint64_t until_ns, uint64_t mean_ns)
{
	uint64_t now_ns;

	if (mean_ns >= SLEEP_FROM_NS) {
		struct timespec until = clock_timespec(until_ns - AWAKE_NS);

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
	}
	while ((now_ns = clock_ns()) < until_ns)
		if (device->crowded)
			sched_yield();
}

void device_ask(struct serial_device *device, uint64_t *random)
{
	uint64_t service_ns = exponential(device->service_ns, random);
	uint64_t now_ns = clock_ns(), free_ns = atomic_load(&device->free_ns), done_ns;

	do
		done_ns = (free_ns > now_ns ? free_ns : now_ns) + service_ns;
	while (!atomic_compare_exchange_weak(&device->free_ns, &free_ns, done_ns));
	wait_until(device, done_ns, device->service_ns);
}

void device_think(const struct serial_device *device, uint64_t *random)
{
	if (device->think_ns)
		wait_until(device, clock_ns() + exponential(device->think_ns, random),
			   device->think_ns);
}
