// SPDX-License-Identifier: MIT
/* Reading the rings while they are written to: chunks, windows and stages. */
#ifndef WHYLATE_RECORDER_WINDOW_H
#define WHYLATE_RECORDER_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

/* The chunks of one CPU that had events when they were read, the oldest first. */
struct chunks {
	const struct recorder_event *events;
	uint64_t end; /* one beyond the number of the last event */
	size_t count;
	struct {
		uint64_t number; /* of the chunk */
		uint32_t index;
	} chunk[CHUNKS_MOST];
};

/* chunks_look - read which chunks have events */
void chunks_look(struct chunks *chunks, const struct recorder *recorder, uint16_t cpu);

/* chunks_copy - copy the event of that number; false: it is overwritten or incomplete */
bool chunks_copy(const struct chunks *chunks, uint64_t number, struct recorder_event *event);

/* chunks_until - return one beyond the last event at or before a time, or the oldest where all are
 * after it; times are nearly in order */
uint64_t chunks_until(const struct chunks *chunks, uint64_t time_ns);

/* chunks_release - release those of the first `holds` windows of a CPU that ended before that time
 */
void chunks_release(struct recorder_cpu *cpu, uint64_t holds, uint64_t before_ns);

/* Events in one window. A longer one keeps its last events: the time before was not observed. */
#define WINDOW_EVENTS 16384u

/* One activation: the events from the switch before it was due until it ran. */
struct window {
	uint64_t due_ns;
	uint64_t run_ns;
	uint64_t observed_ns; /* from here on all events are there */
	size_t count;
	struct recorder_event events[WINDOW_EVENTS];
};

/* window_copy - copy the events of a CPU between due_ns and run_ns, which are set */
void window_copy(struct window *window, const struct recorder *recorder, uint16_t cpu);

/* stage_find - return the first stage of a CPU's measured thread in (after_ns, upto_ns]; *from is
 * where to look first, and moves on. All zeros where there is none. */
struct recorder_stage stage_find(const struct recorder_cpu *cpu, uint64_t *from, uint64_t after_ns,
				 uint64_t upto_ns);

/* stage_since - return how long after it was due a stage came, ns, or WIRE_NOT_SEEN */
int32_t stage_since(uint64_t time_ns, uint64_t due_ns);

#endif
