/* SPDX-License-Identifier: MIT */
/*
 * Waits of a watched program's threads: from when one leaves the CPU until it is due.
 *
 * Waits of one thread in one system call, or for one futex, that the same thread, or an interrupt,
 * ended are a group; its durations are counted in bins, so that a long run takes no more memory.
 */
#ifndef WHYLATE_WORKLOADS_ACTIVATIONS_WAITS_H
#define WHYLATE_WORKLOADS_ACTIVATIONS_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/event.h"
#include "wire/send.h"

#define WAIT_SLOTS (2 * WIRE_MOST_WAIT_GROUPS)

struct wait_group;

struct waits {
	struct wait_group *groups; /* the first: all that have no group of their own */
	uint32_t count;
	uint16_t slots[WAIT_SLOTS]; /* open addressing; 0: empty */
};

/* waits_open - make room for the groups; false: no memory */
bool waits_open(struct waits *waits);

/* waits_add - add the wait before a wakeup, where it is known */
void waits_add(struct waits *waits, const struct recorder_stage *stage);

/* waits_send - send all groups */
void waits_send(const struct waits *waits, struct sender *sender);

void waits_close(struct waits *waits);

#endif
