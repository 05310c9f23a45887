// SPDX-License-Identifier: MIT
/*
 * The flight recorder of a session: what is recorded of which activations, and sent.
 *
 * One thread examines every activation before it is sent. It copies the windows of the
 * late activations and of the control sample out of the rings of the engine.
 */
#ifndef WHYLATE_RECORDER_FLIGHT_H
#define WHYLATE_RECORDER_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detaching.h"
#include "engine.h"
#include "names.h"
#include "threshold.h"
#include "window.h"
#include "wire/messages.h"

struct guardian;
struct sender;

/* Windows that may be copied in a burst. */
#define FLIGHT_BURST 400u

struct flight {
	struct sender *sender;
	struct guardian *guardian;
	bool wanted; /* for the next workload, as requested */
	struct wire_recorder request;
	bool recording;
	struct recorder recorder;
	struct recorder_plan plan;
	struct recorder_cost sampled; /* before the first activation */
	uint64_t gather_ns;	      /* CPU time of looking at activations and copying windows */
	struct detaching detaching;
	struct threshold threshold;
	struct names names;
	struct window *window;
	uint64_t *at_last_look; /* events of each CPU until then */
	uint64_t look_ns;	/* until the next look */
	uint32_t tokens;	/* windows that may be copied now */
	uint64_t refilled_ns;
	uint64_t windows;
	uint64_t rate_limited;
};

/* Why no window is sent, beside enum window_reason. */
#define REASON_NONE REASON_COUNT

/* An activation that may get a window. */
struct flight_subject {
	uint16_t cpu; /* where it ran */
	uint8_t prio; /* as the kernel counts */
	uint32_t tid;
	uint64_t index;
	uint64_t due_ns;
	uint64_t run_ns;
};

void flight_init(struct flight *flight, struct sender *sender, struct guardian *guardian);

/* flight_request - set what is recorded of the next workload; returns 0, or an errno */
int flight_request(struct flight *flight, const struct wire_recorder *request);

/* flight_start - record these threads, which wait for their go, or those of a watched program.
 * Returns 0, or an errno with the text; text holds why an engine was not used even where another
 * one was. */
int flight_start(struct flight *flight, const struct recorder_thread *threads, size_t count,
		 const struct recorder_watch *watch, char *text);

/* flight_report_started - send what is recorded from now on, and what is not */
void flight_report_started(const struct flight *flight);

/* flight_gather - bring all events until now into the rings, and choose when to examine them again
 */
void flight_gather(struct flight *flight);

/* flight_send_window - send a window, unless the rate limit or a slow host forbids it; returns
 * whether it was sent. before: the preceding stage, where the sums of this one begin; NULL. */
bool flight_send_window(struct flight *flight, const struct flight_subject *subject,
			enum window_reason reason, const struct recorder_stage *stage,
			const struct recorder_stage *before);

/* flight_send_travels - after a window, where its thread left that CPU meanwhile: send what other
 * CPUs did on which it ran, or was woken, of each of them until the last such event. first: where
 * it was first. */
void flight_send_travels(struct flight *flight, const struct flight_subject *subject,
			 uint16_t first);

/* flight_looked_at - release what was held of a CPU until before_ns, and publish the threshold */
void flight_looked_at(struct flight *flight, struct recorder_cpu *recorded, uint64_t held,
		      uint64_t before_ns);

/* flight_report_stop - note which activation ended the run */
void flight_report_stop(const struct flight *flight, uint16_t cpu, uint64_t index);

/* flight_end - send the names and what recording cost, and stop recording */
void flight_end(struct flight *flight);

#endif
