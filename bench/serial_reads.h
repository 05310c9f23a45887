/* SPDX-License-Identifier: MIT */
/*
 * serial_reads - an emulated device for programs that read it through shared_read.h
 *
 * It serves one read at a time, in order, and samples as a read begins, so that no two reads have
 * the same value. shared_read.h is included before this.
 */
#ifndef SERIAL_READS_H
#define SERIAL_READS_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

struct serial_reads {
	REMEDY_ATOMIC(uint64_t) free_ns; /* when the next read may begin */
	uint64_t service_ns;		 /* of a read */
	int yields;			 /* whether a reader gives its CPU up while it waits */
};

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* serial_read - wait for the device, and return when this read began in ns */
static inline uint64_t serial_read(struct serial_reads *device)
{
	uint64_t asked_ns = now_ns(), before = REMEDY_LOAD(&device->free_ns, seq_cst), begins_ns;

	do
		begins_ns = before > asked_ns ? before : asked_ns;
	while (!REMEDY_CAS(&device->free_ns, &before, begins_ns + device->service_ns, seq_cst));
	while (now_ns() < begins_ns + device->service_ns)
		if (device->yields)
			sched_yield();
	return begins_ns;
}

#endif
