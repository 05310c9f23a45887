// SPDX-License-Identifier: MIT
/*
 * Counters of the hardware and of the kernel, beside the time of a benchmark's repetitions.
 *
 * A count that the kernel scaled up from a part of the time, because other users wanted the same
 * hardware counter, is refused.
 */
#ifndef WHYLATE_BENCHMARK_COUNTERS_H
#define WHYLATE_BENCHMARK_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/messages.h"

/* Follows the number of a counter that other users had for a part of the time. */
#define COUNTERS_SHARED                                                                            \
	"was not counted all the time: others use the hardware's counters, or there are too few "  \
	"for so many events"

/* Which events: type and config as of perf_event_open(2). */
struct counter_set {
	size_t count;
	struct counter_event {
		uint64_t type, config;
		const char *function; /* of a kprobe; NULL */
		uint16_t mode;	      /* enum counter_mode */
	} events[WIRE_MOST_COUNTERS];
};

struct counters {
	size_t count;
	int fds[WIRE_MOST_COUNTERS];
	/* The readings at the start of the repetition. */
	struct counter_reading {
		uint64_t value, enabled_ns, running_ns;
	} began[WIRE_MOST_COUNTERS];
};

/* counters_open_event - count an event of a thread (0: this process and those that it will start)
 * wherever it runs (cpu -1), or of all threads (-1) on a CPU; returns the descriptor or -errno */
int counters_open_event(const struct counter_event *event, pid_t thread, int cpu);

/* counters_open_on_cpu - count an event of whatever runs on a CPU. leader: of the group, which is
 * on the CPU as a whole or not at all; -1: this is the leader, which does not count until it is
 * enabled, and is pinned. Returns the descriptor or -errno. */
int counters_open_on_cpu(const struct counter_event *event, int cpu, int leader);

/* counters_choose - check which events the host wants counted. Returns 0, or an errno with the
 * text: the index of the event that cannot be counted, or why none is. */
int counters_choose(struct counter_set *set, const struct wire_counters *wanted, char *text);

/* counters_open - open counters of one thread; 0: of the calling process and those that it will
 * start. Returns 0, or an errno with the index of the event that cannot be counted. */
int counters_open(struct counters *counters, const struct counter_set *set, pid_t thread,
		  size_t *bad);

/* counters_close - stop counting */
void counters_close(struct counters *counters);

/* counters_begin - start a repetition */
void counters_begin(struct counters *counters);

/* counters_end - end a repetition: counters_read() gives the time between the two */
void counters_end(struct counters *counters);

/* counters_read - read what was counted between the two; false with an index where one was not
 * counted all the time */
bool counters_read(const struct counters *counters, uint64_t *values, size_t *bad);

#endif
