// SPDX-License-Identifier: MIT
#include "serial_device.h"

#include <math.h>
#include <sched.h>

#include "clock.h"
#include "numbers.h"

/* A shorter mean wait is not slept: the wakeup would be a significant part of it. */
#define SLEEP_FROM_NS 200000u
/* The end of a wait is not slept: a sleep ends late by up to about this. */
#define AWAKE_NS 100000u

/* exponential - draw from the exponential distribution of that mean */
static uint64_t exponential(uint64_t mean_ns, uint64_t *random)
{
	double uniform = ((double)(draw_u64(random) >> 11) + 0.5) / 9007199254740992.0;

	return (uint64_t)(-log(uniform) * (double)mean_ns);
}

/* wait_until - wait; mean_ns: how long such waits are on average */
static void wait_until(const struct serial_device *device, uint64_t until_ns, uint64_t mean_ns)
{
	if (mean_ns >= SLEEP_FROM_NS)
		clock_sleep_until(until_ns - AWAKE_NS);
	while (clock_ns() < until_ns)
		if (device->crowded)
			sched_yield();
}

/* queue - be served for so long; return when that began */
static uint64_t queue(struct serial_device *device, uint64_t service_ns)
{
	uint64_t now_ns = clock_ns(), free_ns = atomic_load(&device->free_ns), begins_ns;

	do
		begins_ns = free_ns > now_ns ? free_ns : now_ns;
	while (!atomic_compare_exchange_weak(&device->free_ns, &free_ns, begins_ns + service_ns));
	wait_until(device, begins_ns + service_ns, device->service_ns);
	return begins_ns;
}

void device_ask(struct serial_device *device, uint64_t *random)
{
	queue(device, exponential(device->service_ns, random));
}

uint64_t device_sample(struct serial_device *device)
{
	return queue(device, device->service_ns);
}

void device_think(const struct serial_device *device, uint64_t *random)
{
	if (device->think_ns)
		wait_until(device, clock_ns() + exponential(device->think_ns, random),
			   device->think_ns);
}
