// SPDX-License-Identifier: MIT
/*
 * Counters that are read at the marks of executions: on each CPU a group of the events that the
 * host asked for.
 */
#ifndef WHYLATE_SECTION_COUNTERS_H
#define WHYLATE_SECTION_COUNTERS_H

#include <stddef.h>

struct counter_set;
struct section;

struct section_counters {
	size_t count; /* descriptors */
	int *fds;
};

/* section_counters_open - count events on each CPU, and let executions read them. Returns 0, or an
 * errno with the text: it begins with "counter N", from 1, where one event cannot be counted. */
int section_counters_open(struct section_counters *counters, const struct section *section,
			  const struct counter_set *set, char *text);

/* section_counters_close - count no more */
void section_counters_close(struct section_counters *counters);

#endif
