/* SPDX-License-Identifier: MIT */
/* Samples of a time in which interrupts or preemption may be disabled: those with the same callers
 * are a group, and what a group shows is known at the end, when the code there is looked at. */
#ifndef WHYLATE_WORKLOADS_OFF_GROUPS_H
#define WHYLATE_WORKLOADS_OFF_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampled/bpf/layout.h"
#include "wire/messages.h"

#define OFF_SLOTS (4 * WIRE_MOST_OFF_GROUPS)

struct child_context;

/* What the CPU did, as far as the sample itself tells. */
enum off_kind {
	OFF_KERNEL,  /* it ran code of the kernel */
	OFF_USER,    /* it ran a program */
	OFF_COUNTED, /* the kernel counted that preemption was disabled */
};

struct off_group {
	uint64_t callers[SAMPLED_CALLERS];
	uint8_t code[SAMPLED_CODE]; /* before the first */
	enum off_kind kind;
	enum off_class class;
	/* Of the stretches that count: see off_groups_count() */
	uint64_t stretches;
	uint64_t lasting;
	uint64_t points;
	uint64_t seen_ns;
	uint64_t longest_ns;
};

struct off_groups {
	struct off_group *groups; /* the first: all for which there was no group */
	uint32_t count;
	uint16_t slots[OFF_SLOTS]; /* open addressing; 0: empty */
};

/* off_groups_open - make room; false: no memory */
bool off_groups_open(struct off_groups *groups);

/* off_groups_of - return the number of the group of a sample, which is made; 0 where there is no
 * room */
uint16_t off_groups_of(struct off_groups *groups, const struct sampled_row *row);

struct caller_names;

/* off_groups_judge - find out what all groups show, and their names; false: no memory */
bool off_groups_judge(struct off_groups *groups, struct caller_names *names);

/* off_groups_send - report all groups in their order */
void off_groups_send(const struct off_groups *groups, const struct caller_names *names,
		     struct child_context *context);

#endif
