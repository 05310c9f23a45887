// SPDX-License-Identifier: MIT
/*
 * An emulated device that serves one after the other, in the order in which they came.
 *
 * Its service takes so long on average, as does what its users do between two calls; both vary as
 * an exponential distribution does, so that a closed network of one queue (whylate.stats.
 * closed_network) describes it exactly, and what is fitted to measurements of it can be marked
 * right or wrong.
 */
#ifndef WHYLATE_BENCHMARK_SERIAL_DEVICE_H
#define WHYLATE_BENCHMARK_SERIAL_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct serial_device {
	_Alignas(64) _Atomic uint64_t free_ns; /* when it is done with those that have come */
	uint64_t service_ns, think_ns;	       /* on average */
	bool crowded;			       /* more threads wait than there are CPUs */
};

/* device_ask - queue for the device and be served. random: the caller's own state, not 0 */
void device_ask(struct serial_device *device, uint64_t *random);

/* device_think - wait as a user does between two requests */
void device_think(const struct serial_device *device, uint64_t *random);

#endif
