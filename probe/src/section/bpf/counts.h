/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What is counted between the marks of an execution: events of the CPU, by a group of counters that
 * is pinned to it.
 *
 * A counter of a CPU counts whatever runs there. So an execution has counts where it stayed on its
 * CPU and its thread did, and where each counter counted all the time: none is scaled.
 */
#ifndef WHYLATE_SECTION_BPF_COUNTS_H
#define WHYLATE_SECTION_BPF_COUNTS_H

#include "owner.h"

/* struct bpf_perf_event_value of linux/bpf.h */
struct reading {
	__u64 counter;
	__u64 enabled;
	__u64 running;
};

/* The compiler shall not know what is at this address. */
#define escape(address) __asm__ volatile("" ::"r"(address) : "memory")

/* A map of counters: WIRE_MOST_EXECUTION_COUNTS of each CPU. */
char section_events SECTION("maps");

static long (*const bpf_perf_event_read_value)(void *map, __u64 flags, struct reading *to,
					       __u32 size) = (void *)55;

/* read_counts - read the counters of this CPU; nothing, and no instruction, where there are none */
ALWAYS_INLINE void read_counts(struct section_counts *counts)
{
	__u64 index = bpf_get_smp_processor_id() * WIRE_MOST_EXECUTION_COUNTS;

	counts->paused_ns = 0;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < WIRE_MOST_EXECUTION_COUNTS; i++) {
		struct reading reading = {};

		if (i >= wanted.counter_count)
			break;
		/* A counter that is not on the CPU is refused: it is pinned, and others have its
		 * place. */
		if (bpf_perf_event_read_value(&section_events, index + i, &reading,
					      sizeof(reading))) {
			counts->paused_ns = SECTION_REFUSED;
			break;
		}
		counts->values[i] = reading.counter;
		counts->paused_ns += reading.enabled - reading.running;
	}
}

/* keep_counts - write what was counted between the marks into a row. is_shared: other threads ran
 * there meanwhile. */
ALWAYS_INLINE void keep_counts(struct section_row *row, const struct section_counts *began,
			       const struct section_counts *ended, bool is_shared)
{
	bool is_refused = began->paused_ns == SECTION_REFUSED ||
			  ended->paused_ns == SECTION_REFUSED ||
			  began->paused_ns != ended->paused_ns;

	row->count_state = is_shared ? COUNTS_SHARED : is_refused ? COUNTS_REFUSED : COUNTS_OWN;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < WIRE_MOST_EXECUTION_COUNTS; i++)
		row->counts[i] = row->count_state || i >= wanted.counter_count
				     ? 0
				     : ended->values[i] - began->values[i];
}

#endif
