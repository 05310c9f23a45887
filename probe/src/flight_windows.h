// SPDX-License-Identifier: MIT
/* Windows of the flight recorder: copied out of the rings and sent, as many as the rate allows. */
#ifndef WHYLATE_FLIGHT_WINDOWS_H
#define WHYLATE_FLIGHT_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/event.h"

struct flight;
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

/* flight_part_limit - how many bytes of events or samples one message may take */
size_t flight_part_limit(const struct session *session);

/* flight_looked_at - let go of what was held of a CPU until before_ns, and say what is late now */
void flight_looked_at(struct flight *flight, struct recorder_cpu *recorded, uint64_t held,
		      uint64_t before_ns);

/* flight_tell_stopped - note that an activation was too late, and ended the run */
void flight_tell_stopped(struct session *session, uint16_t cpu, uint64_t index);

#endif
