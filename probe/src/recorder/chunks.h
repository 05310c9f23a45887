// SPDX-License-Identifier: MIT
/* Finding events in a ring, whose chunks are in any order, while it is written to. */
#ifndef WHYLATE_RECORDER_CHUNKS_H
#define WHYLATE_RECORDER_CHUNKS_H

#include "engine.h"

/* The chunks of one CPU that had something in them when it was looked at, the oldest first. */
struct chunks {
	const struct recorder_event *events;
	uint64_t end; /* one beyond the number of the last event */
	size_t count;
	struct {
		uint64_t number; /* of the chunk */
		uint32_t index;
	} chunk[CHUNKS_MOST];
};

void chunks_look(struct chunks *chunks, const struct recorder *recorder, uint16_t cpu);

/* chunks_copy - copy the event of that number; false: it is not there, or is not whole */
bool chunks_copy(const struct chunks *chunks, uint64_t number, struct recorder_event *event);

/* chunks_until - return one beyond the last event at or before a time, or the oldest where all are
 * after it; times are nearly in order */
uint64_t chunks_until(const struct chunks *chunks, uint64_t time_ns);

/* chunks_release - release the windows of a CPU that were held until before that time, and are
 * among the first `holds` */
void chunks_release(struct recorder_cpu *cpu, uint64_t holds, uint64_t before_ns);

#endif
