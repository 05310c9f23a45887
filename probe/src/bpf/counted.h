/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Counters of a CPU at two times: a pinned group, whose counts are refused where it was not on the
 * CPU all the time between. */
#ifndef WHYLATE_BPF_COUNTED_H
#define WHYLATE_BPF_COUNTED_H

#include "reading.h"
#include "counted_layout.h"

/* A map of counters: WIRE_MOST_OFF_COUNTS of each CPU. */
char off_events SECTION("maps");

/* read_counted - read the counters of this CPU, so many; nothing where there are none */
ALWAYS_INLINE void read_counted(struct counted *counted, __u32 counters, __u64 now)
{
	__u64 index = bpf_get_smp_processor_id() * WIRE_MOST_OFF_COUNTS;

	if (!counters)
		return;
	counted->time_ns = now;
	counted->paused_ns = 0;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < WIRE_MOST_OFF_COUNTS; i++) {
		struct reading reading = {};

		if (i >= counters)
			break;
		/* A counter that is not on the CPU is refused: it is pinned, and others have its
		 * place. */
		if (bpf_perf_event_read_value(&off_events, index + i, &reading, sizeof(reading))) {
			counted->time_ns = 0;
			break;
		}
		counted->values[i] = reading.counter;
		counted->paused_ns += reading.enabled - reading.running;
	}
}

/* take_counted - what was counted from one reading to another; to->time_ns: how long that was, 0
 * where nothing is known */
ALWAYS_INLINE void take_counted(struct counted *to, const struct counted *from)
{
	bool is_known = from->time_ns && to->time_ns && from->paused_ns == to->paused_ns;

	to->time_ns = is_known ? to->time_ns - from->time_ns : 0;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < WIRE_MOST_OFF_COUNTS; i++)
		to->values[i] -= from->values[i];
}

#endif
