// SPDX-License-Identifier: MIT
/* What all benchmarks have in common: a turn is one point in one round, in a process of its own. */
#ifndef WHYLATE_BENCHMARK_H
#define WHYLATE_BENCHMARK_H

#include "child.h"
#include "workloads/workload.h"

/* benchmark_start - start a turn; returns 0, or an errno with the text. The child has a copy of the
 * plan, and of the frame that lists of it point into. */
int benchmark_start(struct workload *workload, uint32_t turn, child_body body, const void *plan);

/* benchmark_refuse - fill in the text for a turn with an invalid value; returns the errno */
int benchmark_refuse(struct workload *workload);

/* benchmark_refuse_size - the same for more bytes than the address space: 512 MiB with 32 bits */
int benchmark_refuse_size(struct workload *workload, uint64_t size);

/* benchmark_is_valid - whether repetitions of a block can be made */
bool benchmark_is_valid(uint64_t block_ns, uint16_t repetitions);

/* child_workload_*: the functions of a workload whose state is a struct child */
int child_workload_start(struct workload *workload, uint32_t turn, child_body body,
			 const void *plan, const struct counter_set *counters);
bool child_workload_poll(struct workload *workload, uint64_t now_ns);
void child_workload_stop(struct workload *workload);
/* child_workload_ask - let the child end by itself, which heeds SIGTERM */
void child_workload_ask(struct workload *workload);
int child_workload_wait_ms(const struct workload *workload);
int child_workload_input(const struct workload *workload);

bool benchmark_poll(struct workload *workload, uint64_t now_ns);

#define CHILD_WORKLOAD_OPS                                                                         \
	.answered_at_end = true, .stop = child_workload_stop, .abandon = child_workload_stop,      \
	.wait_ms = child_workload_wait_ms, .input = child_workload_input

#define BENCHMARK_OPS CHILD_WORKLOAD_OPS, .poll = benchmark_poll

#endif
