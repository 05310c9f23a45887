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

void flight_send_window(struct flight *flight, const struct flight_subject *subject,
			enum window_reason reason, const struct recorder_stage *stage,
			const struct recorder_stage *before)
{
	struct window *window = flight->window;
	uint64_t sums[RECORDER_SUMS] = {0};
	uint8_t room[sizeof(sums)];

	if (reason != REASON_STOP && (!sender_has_room(flight->sender, WINDOW_ROOM) ||
				      !may_copy_window(flight, clock_ns()))) {
		flight->rate_limited += reason == REASON_LATE;
		return;
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
}
