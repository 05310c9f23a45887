// SPDX-License-Identifier: MIT
/* Where the kernel counts what disables preemption: x86 in a variable of each CPU, arm64 in the
 * running task. */
#ifndef WHYLATE_SAMPLED_PREEMPT_COUNT_H
#define WHYLATE_SAMPLED_PREEMPT_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct preempt_counts {
	uint64_t variable; /* its address for the CPU with the offset 0; 0: it is in the task */
	uint64_t offsets;  /* the address of the array of all CPUs' offsets */
	int peek;	   /* -1: none */
};

/* preempt_counts_find - find it; returns 0, or an errno with the text. preempt_counts_close is
 * needed in either case. */
int preempt_counts_find(struct preempt_counts *counts, char *text);

/* preempt_counts_address - the address of a CPU's; 0 where it is in the task. false: the kernel
 * does not let it be read */
bool preempt_counts_address(const struct preempt_counts *counts, uint16_t cpu, uint64_t *address);

void preempt_counts_close(struct preempt_counts *counts);

#endif
