// SPDX-License-Identifier: MIT
/* Counters of the measuring threads: what they did from their go to the end, beside their
 * latencies.
 */
#ifndef WHYLATE_THREAD_COUNTERS_H
#define WHYLATE_THREAD_COUNTERS_H

#include "wakeup_threads.h"
#include "workloads/benchmark/counters.h"

struct sender;

/* thread_counters_start - count what the threads do, which wait for their go. Returns the counters
 * of each thread, or NULL where nothing is counted. */
struct counters *thread_counters_start(const struct wakeup_threads *threads,
				       const struct counter_set *set, struct sender *sender);

/* thread_counters_send - send what was counted until now, and count no more; frees the counters */
void thread_counters_send(struct counters *counters, const struct wakeup_threads *threads,
			  struct sender *sender);

#endif
