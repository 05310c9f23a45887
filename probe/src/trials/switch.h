// SPDX-License-Identifier: MIT
/*
 * What does it cost to switch to another task?
 *
 * A token goes round a ring of tasks, each of which reads its working set when it has it. What a
 * task takes that passes the token to itself as often, reading its working set each time, is
 * measured in blocks between those of the ring, so that what the machine does meanwhile happens to
 * both. How often a CPU went from one task to another the kernel is asked: a hop need not be a
 * switch, nor one alone. Flushes of the translation buffer are counted in a block of their own, for
 * a tracepoint costs time.
 */
#ifndef WHYLATE_TRIAL_SWITCH_H
#define WHYLATE_TRIAL_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"
#include "trial.h"

#define MOST_TASKS	 4096u
#define SWITCH_MOST_CPUS 1024u

struct switch_plan {
	size_t tasks;
	enum channel_kind over;
	bool threads;
	uint64_t set_bytes;
	uint64_t block_ns;
	uint16_t repetitions;
	int priority;
	size_t cpu_count;
	uint16_t cpus[SWITCH_MOST_CPUS];
};

/* switch_run - a trial_body */
int switch_run(struct trial_context *context, const void *plan);

#endif
