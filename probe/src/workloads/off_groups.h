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
/* Callers of where it began; in place of an address: the idle thread. */
#define OFF_BEGAN 2u
#define OFF_IDLE  1u

struct child_context;

/* What the CPU did, as far as the sample itself tells. */
enum off_kind {
	OFF_KERNEL,  /* it ran code of the kernel */
	OFF_USER,    /* it ran a program */
	OFF_COUNTED, /* the kernel counted that preemption was disabled */
	OFF_TRACED,  /* a tracepoint said when it was disabled, and when no more */
};

/* What a group has in common. */
struct off_place {
	enum off_kind kind;
	uint64_t
	    callers[SAMPLED_CALLERS]; /* where it ends; the innermost first, 0 behind the last */
	uint64_t began[OFF_BEGAN];    /* the same of where it began, as far as known */
	uint8_t code[SAMPLED_CODE];   /* before the first */
};

struct off_group {
	struct off_place at;
	enum off_class class;
	/* Of the stretches that count */
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

/* off_groups_of - return the number of the group of that place, which is made; 0 where there is no
 * room. The code does not count. */
uint16_t off_groups_of(struct off_groups *groups, const struct off_place *place);

struct caller_names;

/* off_groups_judge - find out what all groups show, and their names; false: no memory */
bool off_groups_judge(struct off_groups *groups, struct caller_names *names);

/* off_groups_send - report all groups in their order */
void off_groups_send(const struct off_groups *groups, const struct caller_names *names,
		     struct child_context *context);

#endif
