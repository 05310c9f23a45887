// SPDX-License-Identifier: MIT
/*
 * Hits: how often functions of the kernel and tracepoints run on the measured CPUs.
 *
 * Counted by perf_event_open(2), in every process, and not by this program: nothing runs in user
 * space for a hit. The kernel takes back a counter, and the kprobe below it, when its descriptor
 * closes, also where the probe is killed: nothing is left to be undone.
 */
#ifndef WHYLATE_HITS_H
#define WHYLATE_HITS_H

#include <stddef.h>
#include <stdint.h>

#include "wire/messages.h"

struct sender;

struct hits {
	size_t names, cpus;
	uint16_t *cpu; /* shape (cpus) */
	int *fds;      /* shape (cpus, names); -1: not counted */
};

/* hits_start - count what the host wants from now on, and send of each name whether that works.
 * Returns 0, or an errno with the text. */
int hits_start(struct hits *hits, const struct wire_hits *wanted, struct sender *sender,
	       char *text);

/* hits_end - send what was counted, and count no more */
void hits_end(struct hits *hits, struct sender *sender);

/* hits_close - count no more */
void hits_close(struct hits *hits);

#endif
