/* SPDX-License-Identifier: MIT */
/* Waits for locks of threads in a section: those with the same callers are a group. */
#ifndef WHYLATE_WORKLOADS_ACTIVATIONS_LOCK_GROUPS_H
#define WHYLATE_WORKLOADS_ACTIVATIONS_LOCK_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "section/bpf/layout.h"

struct sender;
struct lock_group;

struct lock_groups {
	struct lock_group *groups; /* the first: all for which there was no group */
	uint32_t count;
};

/* lock_groups_open - make room for the groups; false: no memory */
bool lock_groups_open(struct lock_groups *groups);

void lock_groups_add(struct lock_groups *groups, const struct section_lock *wait);

/* lock_groups_send - send all groups, with names of locks and callers as far as the kernel shows
 * them */
void lock_groups_send(struct lock_groups *groups, struct sender *sender);

void lock_groups_close(struct lock_groups *groups);

#endif
