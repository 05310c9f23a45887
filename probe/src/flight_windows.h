// SPDX-License-Identifier: MIT
/* Windows of the flight recorder: copied out of the rings and sent, as many as the rate allows. */
#ifndef WHYLATE_FLIGHT_WINDOWS_H
#define WHYLATE_FLIGHT_WINDOWS_H

#include <stdint.h>

#include "recorder/event.h"

struct session;

/* Why a window is sent (schema/wire.toml, "window"). */
enum why {
	WHY_DRAWN = 0,
	WHY_LATE = 1,
	WHY_STOP = 2,
	WHY_NOT,
};

/* Whose window it is. */
struct flight_subject {
	uint16_t cpu; /* where it ran */
	uint8_t prio; /* as the kernel counts */
	uint32_t tid;
	uint64_t index;
	uint64_t due_ns;
	uint64_t run_ns;
};

/* flight_window - send a window, unless there were too many of late, or the host cannot keep up.
 * before: the stage before this one, from which on the running sums are told; NULL. */
void flight_window(struct session *session, const struct flight_subject *subject, enum why why,
		   const struct recorder_stage *stage, const struct recorder_stage *before);

#endif
