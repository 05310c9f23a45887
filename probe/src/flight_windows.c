// SPDX-License-Identifier: MIT
#include "flight_windows.h"

#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "recorder/chunks.h"
#include "recorder/pack_events.h"
#include "session_parts.h"

/* Windows a second that are copied at the most. */
#define WINDOWS_PER_S 100u
#define TOKEN_NS      (NS_PER_S / WINDOWS_PER_S)
/* Room that a window should find in the link before it is copied. */
#define WINDOW_ROOM (64u * 1024)

/* has_room - windows must not keep the samples waiting, which are fewer bytes and count more */
static bool has_room(const struct session *session)
{
	return session->spooling || link_has_room(&session->link, WINDOW_ROOM);
}

/* allowed - whether one more window may be copied now */
static bool allowed(struct flight *flight, uint64_t now_ns)
{
	uint64_t come = (now_ns - flight->refilled_ns) / TOKEN_NS;

	flight->refilled_ns += come * TOKEN_NS;
	flight->tokens =
	    come < FLIGHT_BURST - flight->tokens ? flight->tokens + (uint32_t)come : FLIGHT_BURST;
	if (!flight->tokens)
		return false;
	flight->tokens--;
	return true;
}

size_t flight_part_limit(const struct session *session)
{
	return session->link.frame_limit > 256 ? session->link.frame_limit - 64
					       : 2 * LINK_MIN_FRAME;
}

void flight_looked_at(struct flight *flight, struct recorder_cpu *recorded, uint64_t held,
		      uint64_t before_ns)
{
	chunks_release(recorded, held, before_ns);
	__atomic_store_n(&recorded->want.above_ns, threshold_below(&flight->threshold),
			 __ATOMIC_RELAXED);
}

void flight_tell_stopped(struct session *session, uint16_t cpu, uint64_t index)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "activation %" PRIu64 " on CPU %u was later than %.1f us: the run was ended there",
		 index, cpu, (double)session->flight.asked.stop_above_ns / 1000);
	KEEP(session, note, NOTE, .code = wire_text("stopped"), .text = wire_text(text));
}

static void send_events(struct session *session, uint16_t cpu, const struct window *window)
{
	uint8_t data[WIRE_MAX_PAYLOAD];
	size_t limit = flight_part_limit(session);
	size_t i = 0;

	while (i < window->count) {
		uint64_t before_ns = window->due_ns;
		uint16_t count = 0;
		size_t length = 0;

		while (i < window->count && (!count || length + PACKED_EVENT <= limit)) {
			const struct recorder_event *event = &window->events[i++];
			length +=
			    pack_event(data + length, event, before_ns, &session->flight.names);
			before_ns = event->time_ns;
			count++;
		}
		KEEP(session, events, EVENTS, .cpu = cpu, .count = count,
		     .data = {data, (uint16_t)length});
	}
}

/* send_other - what happened on another CPU until then */
static void send_other(struct session *session, uint16_t cpu, uint64_t until_ns)
{
	struct flight *flight = &session->flight;
	uint64_t run_ns = flight->window->run_ns;

	if (cpu >= flight->recorder.cpu_limit || !flight->recorder.cpus[cpu])
		return;
	flight->window->run_ns = until_ns;
	window_copy(flight->window, &flight->recorder, cpu);
	send_events(session, cpu, flight->window);
	flight->window->run_ns = run_ns;
}

void flight_window(struct session *session, const struct flight_subject *subject, enum why why,
		   const struct recorder_stage *stage, const struct recorder_stage *before)
{
	struct flight *flight = &session->flight;
	struct window *window = flight->window;
	uint8_t sums[8 * RECORDER_SUMS] = {0};
	struct wire_list list = {sums, sizeof(sums), RECORDER_SUMS};

	if (why != WHY_STOP && (!has_room(session) || !allowed(flight, clock_ns()))) {
		flight->passed_over += why == WHY_LATE;
		return;
	}
	window->due_ns = subject->due_ns;
	window->run_ns = subject->run_ns;
	window_copy(window, &flight->recorder, subject->cpu);
	if (before && stage->switched_ns && before->switched_ns)
		for (size_t i = 0; i < RECORDER_SUMS; i++)
			wire_store(sums + 8 * i, stage->sums[i] - before->sums[i], 8);
	KEEP(session, window, WINDOW, .cpu = subject->cpu, .tid = subject->tid,
	     .prio = subject->prio, .why = (uint8_t)why, .activation = subject->index,
	     .due_ns = window->due_ns, .run_ns = window->run_ns, .timer_ns = stage->timer_ns,
	     .waking_ns = stage->waking_ns, .switched_ns = stage->switched_ns,
	     .waking_cpu = stage->waking_ns ? (uint16_t)stage->waking_cpu : UINT16_MAX,
	     .observed_ns = window->observed_ns, .events = (uint32_t)window->count, .sums = list);
	send_events(session, subject->cpu, window);
	/* Who woke it from elsewhere; or all, where nothing goes on. */
	for (uint16_t other = 0; other < flight->recorder.cpu_limit && why == WHY_STOP; other++)
		if (other != subject->cpu)
			send_other(session, other, window->run_ns);
	if (why != WHY_STOP && stage->waking_ns > window->due_ns &&
	    stage->waking_cpu != subject->cpu)
		send_other(session, (uint16_t)stage->waking_cpu, stage->waking_ns);
	flight->windows++;
}
