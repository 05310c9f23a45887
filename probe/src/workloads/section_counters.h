// SPDX-License-Identifier: MIT
/*
 * Counters that are read at the marks of executions: on each CPU a group of the events that the
 * host asked for.
 */
#ifndef WHYLATE_SECTION_COUNTERS_H
#define WHYLATE_SECTION_COUNTERS_H

#include "cpu_counters.h"

struct section;

/* section_counters_open - count events on each CPU, and let executions read them. Returns 0, or an
 * errno with the text: it begins with "counter N", from 1, where one event cannot be counted. */
int section_counters_open(struct cpu_counters *counters, const struct section *section,
			  const struct counter_set *set, char *text);

#endif
