// SPDX-License-Identifier: MIT
/* The flight recorder and the wakeup workload: which activations get a window. */
#ifndef WHYLATE_WAKEUP_WINDOWS_H
#define WHYLATE_WAKEUP_WINDOWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder/flight.h"
#include "wakeup_threads.h"

/* What the recorder knows of one measuring thread. */
struct watched_cpu {
	uint64_t run_ns;       /* when its last activation ran */
	uint64_t stage;	       /* where to look for the next one's */
	struct threshold late; /* the measuring thread's */
};

struct wakeup_windows {
	struct flight *flight;
	struct wakeup_threads *threads;
	struct watched_cpu *cpus; /* as in struct wakeup_threads; NULL where nothing is recorded */
	/* The activation that ended the workload: 1 + the place of its CPU; 0: none did. */
	_Atomic uint32_t stopped;
	_Atomic uint32_t deciding; /* the same, before all of it is known */
	uint64_t stopped_index;
	uint64_t stopped_ns; /* what came later may not be recorded any more */
	bool stop_reported;
};

/* windows_start - start the recorder, where one was requested, before the threads' go */
void windows_start(struct wakeup_windows *windows, struct flight *flight,
		   struct wakeup_threads *threads);

/* windows_go - the threads were let go: begin to detach the recorder where that was requested, in a
 * thread of SCHED_FIFO with that priority; 0: SCHED_OTHER */
void windows_go(struct wakeup_windows *windows, int priority);

/* windows_examine - examine the activations in the rings that are completely recorded, and offer
 * them for sending; ended: all of them */
void windows_examine(struct wakeup_windows *windows, bool ended);

/* windows_end - stop the recorder */
void windows_end(struct wakeup_windows *windows);

#endif
