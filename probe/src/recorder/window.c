// SPDX-License-Identifier: MIT
#include "window.h"

#include <string.h>

/* Slots that the kernel may be writing to while we read. */
#define GUARD 64u
/* How far behind a window its thread's next switch is looked for. */
#define FOLLOWING 64u

static uint64_t load(const uint64_t *value)
{
	return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

/* take - copy one event; false where it was overwritten, or is not yet whole */
static bool take(const struct recorder *recorder, uint16_t cpu, uint64_t number,
		 struct recorder_event *event)
{
	const struct recorder_event *slot =
	    &recorder->events[cpu][number & (recorder->ring_size - 1)];
	uint32_t seq = (uint32_t)(number + 1);

	if (__atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE) != seq)
		return false;
	*event = *slot;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&slot->seq, __ATOMIC_RELAXED) == seq;
}

/* last_until - one beyond the last event at or before a time; times are nearly in order */
static uint64_t last_until(const struct recorder *recorder, uint16_t cpu, uint64_t oldest,
			   uint64_t newest, uint64_t time_ns)
{
	struct recorder_event event;

	while (oldest < newest) {
		uint64_t middle = oldest + (newest - oldest) / 2;

		/* One that cannot be read is taken for old: it was overwritten by a newer one. */
		if (take(recorder, cpu, middle, &event) && event.time_ns > time_ns)
			newest = middle;
		else
			oldest = middle + 1;
	}
	return newest;
}

/* through_switch - one beyond the next switch, which tells of time stolen until then */
static uint64_t through_switch(const struct recorder *recorder, uint16_t cpu, uint64_t from,
			       uint64_t newest)
{
	struct recorder_event event;

	for (uint64_t number = from; number < newest && number < from + FOLLOWING; number++)
		if (take(recorder, cpu, number, &event) && event.kind == EVENT_SWITCH)
			return number + 1;
	return from;
}

void window_copy(struct window *window, const struct recorder *recorder, uint16_t cpu)
{
	uint64_t newest = load((const uint64_t *)&recorder->cpus[cpu]->events);
	uint64_t kept = recorder->ring_size - GUARD;
	uint64_t oldest = newest > kept ? newest - kept : 0;
	uint64_t end = last_until(recorder, cpu, oldest, newest, window->run_ns);
	uint64_t number = through_switch(recorder, cpu, end, newest);
	size_t first = WINDOW_EVENTS;
	bool switched = false;

	window->count = 0;
	/* Backwards, into the end of the buffer: how many there are shows only at the switch. */
	while (number > oldest && first > 0 && !switched) {
		struct recorder_event *event = &window->events[first - 1];

		if (!take(recorder, cpu, number - 1, event))
			break;
		number--;
		first--;
		switched = event->kind == EVENT_SWITCH && event->time_ns <= window->due_ns;
	}
	window->count = WINDOW_EVENTS - first;
	memmove(window->events, window->events + first, window->count * sizeof(window->events[0]));
	if (!window->count)
		window->observed_ns = window->run_ns;
	else if (switched || window->events[0].time_ns < window->due_ns)
		window->observed_ns = window->due_ns;
	else
		window->observed_ns = window->events[0].time_ns;
}

struct recorder_stage stage_find(const struct recorder_cpu *cpu, uint64_t *from, uint64_t after_ns,
				 uint64_t upto_ns)
{
	uint64_t newest = load((const uint64_t *)&cpu->stages);

	if (newest > STAGES - 2 && *from < newest - (STAGES - 2))
		*from = newest - (STAGES - 2);
	for (; *from < newest; ++*from) {
		struct recorder_stage stage = cpu->stage[*from & (STAGES - 1)];

		if (stage.switched_ns > upto_ns)
			break;
		if (stage.switched_ns > after_ns)
			return stage;
	}
	return (struct recorder_stage){0};
}
