// SPDX-License-Identifier: MIT
/*
 * The flight recorder in a session: what is recorded of which activations, and sent.
 *
 * An ordinary thread looks at every activation before it is shipped. Of the late ones, and of a
 * random sample of all, it copies the window out of the rings of the engine.
 */
#ifndef WHYLATE_FLIGHT_H
#define WHYLATE_FLIGHT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder/engine.h"
#include "recorder/names.h"
#include "recorder/threshold.h"
#include "recorder/window.h"
#include "wakeup.h"
#include "wire/messages.h"

struct session;

/* As many windows at once after a quiet time. */
#define FLIGHT_BURST 400u

struct flight_cpu {
	uint64_t examined;     /* activations of the ring that were looked at */
	uint64_t run_ns;       /* when the last of them ran */
	uint64_t stage;	       /* where to look for the next one's */
	struct threshold late; /* the measuring thread's */
};

struct flight {
	bool wanted; /* for the next workload, as asked */
	struct wire_recorder asked;
	bool recording;
	struct recorder recorder;
	struct recorder_plan plan;
	struct recorder_cost sampled; /* before the first activation */
	uint64_t gather_ns;	      /* CPU time that flight_examine() took */
	struct threshold threshold;
	struct names names;
	struct flight_cpu *cpus; /* as in struct wakeup */
	struct window *window;
	uint64_t *at_last_look; /* events of each CPU until then */
	uint64_t look_ns;	/* until the next look */
	uint32_t body_every;
	uint32_t tokens; /* windows that may be copied now */
	uint64_t refilled_ns;
	uint64_t windows;
	uint64_t passed_over;
	/* The activation that ended the workload: 1 + the place of its CPU; 0: none did. */
	_Atomic uint32_t stopped;
	_Atomic uint32_t deciding; /* the same, before all of it is known */
	uint64_t stopped_index;
	uint64_t stopped_ns; /* what came later may not be recorded any more */
	bool stop_told;
};

/* flight_start - record what the threads of the workload do, which wait for their go, or those of a
 * watched program. Returns 0, or an errno with one line in text (RECORDER_MESSAGE bytes). */
int flight_start(struct session *session, const struct recorder_watch *watch, char *text);

/* flight_gather - bring what was recorded until now into the rings, and say when to look again */
void flight_gather(struct flight *flight);

/* flight_end - send the names and the account, and stop recording */
void flight_end(struct session *session);

/* Of the wakeup workload alone: */

/* flight_tell_threads - tell them which activations to have held, before their go */
void flight_tell_threads(struct session *session);

/* flight_watch - let the first activation that is too late end the workload, recorded or not */
void flight_watch(struct session *session);

/* flight_examine - look at what the threads have put into their rings, and let go of it; at the
 * end of all that there is */
void flight_examine(struct session *session, bool ended);

#endif
