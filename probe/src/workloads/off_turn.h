/* SPDX-License-Identifier: MIT */
/* A turn of the workload off: what it keeps of stretches, and what both ways to see them share. */
#ifndef WHYLATE_WORKLOADS_OFF_TURN_H
#define WHYLATE_WORKLOADS_OFF_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "benchmark/child.h"
#include "bpf/counted_layout.h"
#include "clock.h"
#include "cpu_counters.h"
#include "off_groups.h"

/* What was seen is looked at this often. */
#define OFF_LOOK_NS (20 * NS_PER_MS)
/* The lowest real-time priority, for the thread that looks. */
#define OFF_PRIORITY 1

/* A stretch, or a sample of one. */
struct off_kept {
	uint64_t time_ns; /* since the start, when it was seen to end */
	uint64_t late_ns; /* for how long it was seen */
	uint64_t due_ns;  /* the last point of the grid */
	uint64_t points;
	uint32_t pid;
	uint16_t place; /* of its CPU */
	uint16_t group;
	bool is_late;
};

struct off_turn {
	const struct wire_bench_off *plan;
	struct child_context *context;
	struct off_groups groups;
	struct cpu_counters counters;
	uint64_t start_ns, end_ns;
	size_t blocks; /* that are over; the last of a turn that was stopped is shorter */
	struct off_kept *kept;
	char (*comms)[16];	 /* of each that is kept */
	struct counted *counted; /* the same; NULL: nothing is counted */
	size_t count, room;
};

/* off_turn_open - make room; returns 0, or an errno with the text */
int off_turn_open(struct off_turn *turn, const struct wire_bench_off *plan,
		  struct child_context *context);

/* off_turn_add - make room for one more, and count it; NULL: no memory */
struct off_kept *off_turn_add(struct off_turn *turn, const char comm[16]);

/* off_turn_counted - what is counted of one that is kept; NULL: nothing is counted */
static inline struct counted *off_turn_counted(const struct off_turn *turn,
					       const struct off_kept *kept)
{
	return turn->counted ? &turn->counted[kept - turn->kept] : NULL;
}

/* off_turn_move - keep one in the place of another */
void off_turn_move(struct off_turn *turn, size_t to, size_t from);

/* off_turn_count - count on each CPU what the host wants counted, and let programs read it in that
 * map. Returns 0, or an errno with the text. */
int off_turn_count(struct off_turn *turn, int map);

/* off_turn_begin - the first block begins; it ends early where the process gets SIGTERM */
void off_turn_begin(struct off_turn *turn);

/* off_turn_sleep - sleep for so long, or to the end of a block; false: the turn is over */
bool off_turn_sleep(struct off_turn *turn, uint64_t ns);

/* off_turn_block_ns - how long a block was */
uint64_t off_turn_block_ns(const struct off_turn *turn, size_t block);

/* off_turn_send_method - report how it is known what is disabled */
void off_turn_send_method(const struct off_turn *turn, enum off_method method, const char *why);

/* off_turn_send_longest, _stretches - report the longest that were shown, and all that are kept */
void off_turn_send_longest(const struct off_turn *turn);
void off_turn_send_stretches(const struct off_turn *turn);

/* off_turn_trace - trace the turn and report it; returns 0, ENOENT where the kernel has no
 * tracepoints for it, or an errno, with the text */
int off_turn_trace(struct off_turn *turn);

/* off_turn_sample - the same by samples. why: nothing better is used; "": it was wanted so */
int off_turn_sample(struct off_turn *turn, const char *why);

#endif
