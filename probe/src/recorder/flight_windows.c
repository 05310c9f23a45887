// SPDX-License-Identifier: MIT
/* Windows: copied out of the rings and sent, as many as the rate allows. */

#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "flight.h"
#include "pack_events.h"
#include "wire/send.h"

/* Windows a second that are copied at the most. */
#define WINDOWS_PER_S 100u
#define TOKEN_NS      (NS_PER_S / WINDOWS_PER_S)
/* Room in the link that a window needs: it must not delay the samples, which are smaller and more
 * important. */
#define WINDOW_ROOM (64u * 1024)
/* CPUs that are searched for a thread that left its own: each takes a copy of its events. */
#define TRAVELS_MOST 16u

/* may_copy_window - whether the rate allows one more window now */
static bool may_copy_window(struct flight *flight, uint64_t now_ns)
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

void flight_looked_at(struct flight *flight, struct recorder_cpu *recorded, uint64_t held,
		      uint64_t before_ns)
{
	chunks_release(recorded, held, before_ns);
	__atomic_store_n(&recorded->want.above_ns, threshold_below(&flight->threshold),
			 __ATOMIC_RELAXED);
}

void flight_report_stop(const struct flight *flight, uint16_t cpu, uint64_t index)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "activation %" PRIu64 " on CPU %u was later than %.1f us: the run was ended there",
		 index, cpu, (double)flight->request.stop_above_ns / 1000);
	KEEP(flight->sender, note, NOTE, .code = wire_text("stopped"), .text = wire_text(text));
}

static void send_events(struct flight *flight, uint16_t cpu)
{
	const struct window *window = flight->window;
	uint8_t data[WIRE_MAX_PAYLOAD];
	size_t limit = sender_block_limit(flight->sender);
	size_t i = 0;

	while (i < window->count) {
		uint64_t before_ns = window->due_ns;
		uint16_t count = 0;
		size_t length = 0;

		while (i < window->count && (!count || length + PACKED_EVENT <= limit)) {
			const struct recorder_event *event = &window->events[i++];
			length += pack_event(data + length, event, before_ns, &flight->names);
			before_ns = event->time_ns;
			count++;
		}
		KEEP(flight->sender, events, EVENTS, .cpu = cpu, .count = count,
		     .data = {data, (uint16_t)length});
	}
}

/* send_other - send what happened on another CPU until then */
static void send_other(struct flight *flight, uint16_t cpu, uint64_t until_ns)
{
	uint64_t run_ns = flight->window->run_ns;

	if (cpu >= flight->recorder.cpu_limit || !flight->recorder.cpus[cpu])
		return;
	flight->window->run_ns = until_ns;
	window_copy(flight->window, &flight->recorder, cpu);
	send_events(flight, cpu);
	flight->window->run_ns = run_ns;
}

bool flight_send_window(struct flight *flight, const struct flight_subject *subject,
			enum window_reason reason, const struct recorder_stage *stage,
			const struct recorder_stage *before)
{
	struct window *window = flight->window;
	uint64_t sums[RECORDER_SUMS] = {0};
	uint8_t room[sizeof(sums)];

	if (reason != REASON_STOP && (!sender_has_room(flight->sender, WINDOW_ROOM) ||
				      !may_copy_window(flight, clock_ns()))) {
		flight->rate_limited += reason == REASON_LATE;
		return false;
	}
	window->due_ns = subject->due_ns;
	window->run_ns = subject->run_ns;
	window_copy(window, &flight->recorder, subject->cpu);
	if (before && stage->switched_ns && before->switched_ns)
		for (size_t i = 0; i < RECORDER_SUMS; i++)
			sums[i] = stage->sums[i] - before->sums[i];
	KEEP(flight->sender, window, WINDOW, .cpu = subject->cpu, .tid = subject->tid,
	     .prio = subject->prio, .reason = (uint8_t)reason, .activation = subject->index,
	     .due_ns = window->due_ns, .run_ns = window->run_ns, .timer_ns = stage->timer_ns,
	     .waking_ns = stage->waking_ns, .switched_ns = stage->switched_ns,
	     .waking_cpu = stage->waking_ns ? (uint16_t)stage->waking_cpu : UINT16_MAX,
	     .observed_ns = window->observed_ns, .events = (uint32_t)window->count,
	     .sums = wire_list_of_u64(room, sums, RECORDER_SUMS));
	send_events(flight, subject->cpu);
	/* Also of the CPU that woke it; or of all CPUs, where recording has stopped. */
	for (uint16_t other = 0; other < flight->recorder.cpu_limit && reason == REASON_STOP;
	     other++)
		if (other != subject->cpu)
			send_other(flight, other, window->run_ns);
	if (reason != REASON_STOP && stage->waking_ns > window->due_ns &&
	    stage->waking_cpu != subject->cpu)
		send_other(flight, (uint16_t)stage->waking_cpu, stage->waking_ns);
	flight->windows++;
	return true;
}

/* ---------------------------------------------------------------- threads that travel */

/* is_of - whether an event tells where a thread is */
static bool is_of(const struct recorder_event *event, uint32_t tid)
{
	if (event->kind == EVENT_SWITCH && event->d == tid)
		return true;
	return event->c == tid && (event->kind == EVENT_SWITCH || event->kind == EVENT_WAKING ||
				   event->kind == EVENT_MIGRATE);
}

/* last_of - return one beyond the last event in a window that tells where a thread is; 0: none does
 */
static size_t last_of(const struct window *window, uint32_t tid)
{
	for (size_t i = window->count; i > 0; i--) {
		const struct recorder_event *event = &window->events[i - 1];

		if (event->time_ns > window->due_ns && event->time_ns <= window->run_ns &&
		    is_of(event, tid))
			return i;
	}
	return 0;
}

/* send_travel - send what happened on another CPU until the last event of the thread there */
static void send_travel(struct flight *flight, const struct flight_subject *subject, uint16_t cpu)
{
	struct window *window = flight->window;

	if (cpu == subject->cpu || cpu >= flight->recorder.cpu_limit || !flight->recorder.cpus[cpu])
		return;
	window_copy(window, &flight->recorder, cpu);
	window->count = last_of(window, subject->tid);
	send_events(flight, cpu);
}

void flight_send_travels(struct flight *flight, const struct flight_subject *subject,
			 uint16_t first)
{
	uint16_t searched = 1;

	if (first == subject->cpu && !last_of(flight->window, subject->tid))
		return;
	send_travel(flight, subject, first);
	for (uint16_t cpu = 0; cpu < flight->recorder.cpu_limit && searched < TRAVELS_MOST; cpu++)
		if (cpu != first && cpu != subject->cpu && flight->recorder.cpus[cpu]) {
			send_travel(flight, subject, cpu);
			searched++;
		}
}
