// SPDX-License-Identifier: MIT
#include "window.h"

#include <string.h>

#include "chunks.h"

/* How far behind a window its thread's next switch is looked for. */
#define FOLLOWING 64u
/* Events that may just be written: of interrupts within interrupts. */
#define WRITING 64u

/* through_switch - return one beyond the next switch, which reports the time stolen until then */
static uint64_t through_switch(const struct chunks *chunks, uint64_t from)
{
	struct recorder_event event;

	for (uint64_t number = from; number < chunks->end && number < from + FOLLOWING; number++)
		if (chunks_copy(chunks, number, &event) && event.kind == EVENT_SWITCH)
			return number + 1;
	return from;
}

void window_copy(struct window *window, const struct recorder *recorder, uint16_t cpu)
{
	struct chunks chunks;
	uint64_t number;
	size_t first = WINDOW_EVENTS;
	bool switched = false;

	chunks_look(&chunks, recorder, cpu);
	number = chunks_until(&chunks, window->run_ns);
	window->count = 0;
	window->observed_ns = window->run_ns;
	/* Where what followed is gone, what preceded the thread's running may be as well; the very
	 * last ones may just be written. */
	if (number + WRITING < chunks.end && !chunks_copy(&chunks, number, &window->events[0]))
		return;
	number = through_switch(&chunks, number);
	/* Backwards, into the end of the buffer: how many there are shows only at the switch. */
	while (number > 0 && first > 0 && !switched) {
		struct recorder_event *event = &window->events[first - 1];

		if (!chunks_copy(&chunks, number - 1, event))
			break;
		number--;
		first--;
		switched = event->kind == EVENT_SWITCH && event->time_ns <= window->due_ns;
	}
	window->count = WINDOW_EVENTS - first;
	memmove(window->events, window->events + first, window->count * sizeof(window->events[0]));
	if (window->count && (switched || window->events[0].time_ns < window->due_ns))
		window->observed_ns = window->due_ns;
	else if (window->count)
		window->observed_ns = window->events[0].time_ns;
}

struct recorder_stage stage_find(const struct recorder_cpu *cpu, uint64_t *from, uint64_t after_ns,
				 uint64_t upto_ns)
{
	uint64_t newest = __atomic_load_n((const uint64_t *)&cpu->stages, __ATOMIC_ACQUIRE);

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

int32_t stage_since(uint64_t time_ns, uint64_t due_ns)
{
	int64_t ns = (int64_t)(time_ns - due_ns);

	return time_ns && ns > WIRE_NOT_SEEN && ns <= INT32_MAX ? (int32_t)ns : WIRE_NOT_SEEN;
}
