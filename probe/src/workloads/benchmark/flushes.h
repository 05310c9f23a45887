// SPDX-License-Identifier: MIT
/*
 * How often CPUs flush their TLB to switch to another address space.
 *
 * A CPU does that when it has run out of identifiers for address spaces. The kernel's tracepoint
 * tlb:tlb_flush reports it on x86 alone.
 */
#ifndef WHYLATE_BENCHMARK_FLUSHES_H
#define WHYLATE_BENCHMARK_FLUSHES_H

#include <stddef.h>
#include <stdint.h>

#include "wire/messages.h"

struct flush_counter {
	size_t count;
	int fds[WIRE_MOST_CPUS];
};

/* flushes_open - count the flushes of the first `count` of these CPUs; returns 0, or an errno:
 * ENOENT without such a tracepoint, EDOM without CPUs */
int flushes_open(struct flush_counter *counter, struct wire_list cpus, size_t count);

/* flushes_read - read how many there were since it was opened */
uint64_t flushes_read(const struct flush_counter *counter);

void flushes_close(struct flush_counter *counter);

#endif
