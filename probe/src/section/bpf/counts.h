/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What is counted between the marks of an execution: events of the CPU, by a group of counters that
 * is pinned to it.
 *
 * A counter of a CPU counts whatever runs there. What it counts while a thread in the section is
 * interrupted, or has no CPU, is put aside, so that the rest is of the thread, on whichever CPUs it
 * was. Each counter must have counted all the time: none is scaled.
 */
#ifndef WHYLATE_SECTION_BPF_COUNTS_H
#define WHYLATE_SECTION_BPF_COUNTS_H

#include "bpf/reading.h"
#include "owner.h"

/* The compiler shall not know what is at this address. */
#define escape(address) __asm__ volatile("" ::"r"(address) : "memory")

/* A map of counters: WIRE_MOST_EXECUTION_COUNTS of each CPU. */
char section_events SECTION("maps");

/* read_counts - read the counters of this CPU; nothing, and no instruction, where there are none */
ALWAYS_INLINE void read_counts(struct section_counts *counts)
{
	__u64 index = bpf_get_smp_processor_id() * WIRE_MOST_EXECUTION_COUNTS;

	__builtin_memset(counts, 0, sizeof(*counts));
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < WIRE_MOST_EXECUTION_COUNTS; i++) {
		struct reading reading = {};

		if (i >= wanted.counter_count)
			break;
		/* A counter that is not on the CPU is refused: it is pinned, and others have its
		 * place. */
		if (bpf_perf_event_read_value(&section_events, index + i, &reading,
					      sizeof(reading))) {
			counts->refused = 1;
			break;
		}
		counts->values[i] = reading.counter;
		counts->paused_ns += reading.enabled - reading.running;
	}
}

ALWAYS_INLINE void add_counts(struct section_counts *to, const struct section_counts *counts)
{
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < WIRE_MOST_EXECUTION_COUNTS; i++)
		to->values[i] += counts->values[i];
	to->paused_ns += counts->paused_ns;
	to->refused += counts->refused;
}

/* take_counts - take counts away from others; what could not be read adds up nevertheless */
ALWAYS_INLINE void take_counts(struct section_counts *from, const struct section_counts *counts)
{
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < WIRE_MOST_EXECUTION_COUNTS; i++)
		from->values[i] -= counts->values[i];
	from->paused_ns -= counts->paused_ns;
	from->refused += counts->refused;
}

/* leave_counts - what is counted from now on is of others, until return_counts(), on any CPU */
ALWAYS_INLINE void leave_counts(struct section_owner *owner)
{
	struct section_counts now;

	if (!wanted.counter_count)
		return;
	read_counts(&now);
	take_counts(&owner->aside, &now);
}

ALWAYS_INLINE void return_counts(struct section_owner *owner)
{
	struct section_counts now;

	if (!wanted.counter_count)
		return;
	read_counts(&now);
	add_counts(&owner->aside, &now);
}

/* mark_counts - what the owner's code has counted, since a time that is the same for all marks */
ALWAYS_INLINE void mark_counts(const struct section_owner *owner, struct section_mark *mark)
{
	read_counts(&mark->counts);
	mark->refused_aside = owner->aside.refused;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < WIRE_MOST_EXECUTION_COUNTS; i++)
		mark->counts.values[i] -= owner->aside.values[i];
	mark->counts.paused_ns -= owner->aside.paused_ns;
	/* It was switched from, and not seen to be switched to again. */
	mark->counts.refused |= owner->left_ns != 0;
}

/* keep_counts - write what was counted between the marks into a row. is_shared: of whom is not
 * known. */
ALWAYS_INLINE void keep_counts(struct section_row *row, const struct section_mark *began,
			       const struct section_mark *ended, bool is_shared)
{
	bool is_refused = began->counts.refused || ended->counts.refused ||
			  began->refused_aside != ended->refused_aside ||
			  began->counts.paused_ns != ended->counts.paused_ns;

	row->count_state = is_shared ? COUNTS_SHARED : is_refused ? COUNTS_REFUSED : COUNTS_OWN;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < WIRE_MOST_EXECUTION_COUNTS; i++)
		row->counts[i] = row->count_state || i >= wanted.counter_count
				     ? 0
				     : ended->counts.values[i] - began->counts.values[i];
}

#endif
