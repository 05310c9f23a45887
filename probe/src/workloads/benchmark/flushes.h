// SPDX-License-Identifier: MIT
/*
 * How often CPUs flush their TLB, and why: to switch to another address space, for which a CPU has
 * no identifier left, or because translations were changed.
 *
 * The kernel's tracepoint tlb:tlb_flush reports it on x86 alone.
 */
#ifndef WHYLATE_BENCHMARK_FLUSHES_H
#define WHYLATE_BENCHMARK_FLUSHES_H

#include <stddef.h>
#include <stdint.h>

#include "wire/messages.h"

/* Of enum tlb_flush_reason in linux/mm_types.h the first, and how many there are. */
#define FLUSH_ON_SWITCH 0
#define FLUSH_REASONS	6

struct flush_counter {
	size_t count;
	int fds[WIRE_MOST_CPUS];
};

/* flushes_open - count the flushes of a reason on the first `count` of these CPUs; returns 0, or an
 * errno: ENOENT without such a tracepoint, EDOM without CPUs */
int flushes_open(struct flush_counter *counter, struct wire_list cpus, size_t count, int reason);

/* flushes_read - read how many there were since it was opened */
uint64_t flushes_read(const struct flush_counter *counter);

void flushes_close(struct flush_counter *counter);

#endif
