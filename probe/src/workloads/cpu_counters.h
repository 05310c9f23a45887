/* SPDX-License-Identifier: MIT */
/* Counters that programs read: on each CPU a group of the events that the host asked for. */
#ifndef WHYLATE_WORKLOADS_CPU_COUNTERS_H
#define WHYLATE_WORKLOADS_CPU_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

struct counter_set;

struct cpu_counters {
	size_t count; /* descriptors */
	int *fds;
};

/* cpu_counters_open - make room for so many CPUs; returns 0 or an errno */
int cpu_counters_open(struct cpu_counters *counters, const struct counter_set *set, size_t cpus);

/* cpu_counters_add - count the events on a CPU, and let programs read them in a map that has so
 * many places for each CPU. Returns 0; ENODEV for a CPU that is offline; or an errno with the text:
 * it begins with "counter N", from 1, where one event cannot be counted. */
int cpu_counters_add(struct cpu_counters *counters, const struct counter_set *set, uint16_t cpu,
		     int map, uint32_t each, char *text);

/* cpu_counters_close - count no more */
void cpu_counters_close(struct cpu_counters *counters);

#endif
