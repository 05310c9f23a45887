// SPDX-License-Identifier: MIT
/*
 * Background loads: what competes with the measured threads.
 *
 * Every instance of a load runs in a process of its own, below the guardian, so that it shares
 * no address space with the measuring threads and dies with the run however the run ends.
 */
#ifndef WHYLATE_LOAD_H
#define WHYLATE_LOAD_H

#include <stdatomic.h>
#include <stdint.h>

#include "wire/constants.h"

/* What the kernel counted of a device that a load drives: totals, whoever caused them. */
enum load_counted {
	LOAD_INTERRUPTS, /* of the device's lines, on all CPUs */
	LOAD_SOFTIRQS,	 /* NET_RX, or BLOCK */
	LOAD_IN_COUNT,	 /* packets received, or requests read */
	LOAD_IN_BYTES,
	LOAD_OUT_COUNT, /* packets sent, or requests written */
	LOAD_OUT_BYTES,
	LOAD_RECEIVED,	 /* bytes of the load itself that arrived here */
	LOAD_DELIVERED,	 /* bytes of the load itself that arrived at its other end */
	LOAD_COUNTED_NS, /* when it was counted */
	LOAD_COUNTED
};

/* The device that a load drives. The names are NUL-terminated and written before is_known. */
struct load_device {
	_Atomic int32_t is_known;
	char name[32];	 /* "eth0", "mmcblk0" */
	char lines[128]; /* names of its interrupts, with commas: "virtio0-input.0,virtio0-output.0"
			  */
	_Atomic uint64_t counted[LOAD_COUNTED];
};

/* One instance as the probe sees it; lives in memory shared by probe, guardian and load. */
struct load_slot {
	_Atomic uint64_t work; /* units of work done so far; only ever grows */
	_Atomic int32_t state; /* enum load_state */
	char message[160];     /* why it stopped; NUL-terminated, written before state */
	struct load_device device;
};

struct load_context {
	struct load_slot *slot;
	char *const *argv; /* NULL-terminated; for "cmd", "nic" and "block" */
};

struct load_kind {
	const char *name; /* as on the command line: "memory" */
	const char *unit; /* of slot->work: "bytes", "switches" */
	const char *what; /* one line for people */
	/*
	 * Works until it is killed, adding to slot->work at least ten times a second.
	 * Returns only when it can not go on, after load_fail().
	 */
	void (*run)(struct load_context *context);
};

/* All kinds, ended by one whose name is NULL. */
extern const struct load_kind load_kinds[];

/* load_find - the kind of that name, or NULL */
const struct load_kind *load_find(const char *name);

/* load_fail - report why this load stopped, printf-style */
void load_fail(struct load_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void load_count(struct load_context *context, uint64_t units)
{
	atomic_fetch_add_explicit(&context->slot->work, units, memory_order_relaxed);
}

#endif
