// SPDX-License-Identifier: MIT
/*
 * An emulated device that serves one request at a time, in order of arrival.
 *
 * Service times and think times, which its users spend between two requests, are exponentially
 * distributed: a closed network of one queue (whylate.stats.closed_network) describes the device
 * exactly, and a fit to its measurements can be marked right or wrong.
 */
#ifndef WHYLATE_BENCHMARK_SERIAL_DEVICE_H
#define WHYLATE_BENCHMARK_SERIAL_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct serial_device {
	_Alignas(64) _Atomic uint64_t free_ns; /* when all requests until now are served */
	uint64_t service_ns, think_ns;	       /* on average */
	bool crowded;			       /* more threads wait than there are CPUs */
};

/* device_ask - queue for the device and be served. random: the caller's own state, not 0 */
void device_ask(struct serial_device *device, uint64_t *random);

/*
 * device_sample - be served for the mean service time; return when that began, on CLOCK_MONOTONIC
 *
 * The device samples as it begins: of all moments at which it may, that makes values the oldest.
 */
uint64_t device_sample(struct serial_device *device);

/* device_think - wait as a user does between two requests */
void device_think(const struct serial_device *device, uint64_t *random);

#endif
