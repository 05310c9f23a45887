// SPDX-License-Identifier: MIT
/* One activation's window: the events from the switch before it was due until it ran. */
#ifndef WHYLATE_RECORDER_WINDOW_H
#define WHYLATE_RECORDER_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "engine.h"

/* Events in one window. Of longer ones the last are kept: what came before was not observed. */
#define WINDOW_EVENTS 16384u

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
