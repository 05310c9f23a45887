// SPDX-License-Identifier: MIT
#include "window.h"

#include <stdlib.h>
#include <string.h>

#include "numbers.h"

/* Events after a window in which the next switch of its thread is looked for. */
#define FOLLOWING 64u
/* Events that may be incomplete: of interrupts within interrupts. */
#define WRITING 64u

/* ---------------------------------------------------------------- chunks */

void chunks_look(struct chunks *chunks, const struct recorder *recorder, uint16_t cpu)
{
	const struct recorder_cpu *state = recorder->cpus[cpu];

	chunks->events = recorder->events[cpu];
	chunks->end = __atomic_load_n((const uint64_t *)&state->events, __ATOMIC_ACQUIRE);
	chunks->count = 0;
	for (uint32_t i = 0; i < recorder->ring_size / CHUNK_EVENTS; i++) {
		uint64_t number = __atomic_load_n(&state->chunk[i].number, __ATOMIC_ACQUIRE);

		if (!number)
			continue;
		chunks->chunk[chunks->count].number = number - 1;
		chunks->chunk[chunks->count++].index = i;
	}
	qsort(chunks->chunk, chunks->count, sizeof(chunks->chunk[0]), compare_u64);
}

/* find - return the place of the last chunk up to that number; count where all are above it */
static size_t find(const struct chunks *chunks, uint64_t number)
{
	size_t low = 0, high = chunks->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (chunks->chunk[middle].number <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : chunks->count;
}

bool chunks_copy(const struct chunks *chunks, uint64_t number, struct recorder_event *event)
{
	size_t at = find(chunks, number / CHUNK_EVENTS);
	const struct recorder_event *slot;
	uint32_t seq = (uint32_t)(number + 1);

	if (at == chunks->count || chunks->chunk[at].number != number / CHUNK_EVENTS)
		return false;
	slot =
	    &chunks
		 ->events[(uint64_t)chunks->chunk[at].index * CHUNK_EVENTS + number % CHUNK_EVENTS];
	if (__atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE) != seq)
		return false;
	*event = *slot;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&slot->seq, __ATOMIC_RELAXED) == seq;
}

/* is_in_time - whether an event stands in the ring where its time is: a stack may be recorded after
 * its window */
static bool is_in_time(const struct recorder_event *event)
{
	return event->kind != EVENT_STACK && event->kind != EVENT_FRAMES;
}

/* is_after - whether a chunk begins after that time. One that cannot be read was overwritten: it
 * counts as old */
static bool is_after(const struct chunks *chunks, uint64_t first, uint64_t time_ns)
{
	struct recorder_event event;

	for (uint64_t number = first; number < first + CHUNK_EVENTS; number++) {
		if (!chunks_copy(chunks, number, &event))
			return false;
		if (is_in_time(&event))
			return event.time_ns > time_ns;
	}
	return false;
}

uint64_t chunks_until(const struct chunks *chunks, uint64_t time_ns)
{
	size_t low = 0, high = chunks->count;
	struct recorder_event event;
	uint64_t first;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_after(chunks, chunks->chunk[middle].number * CHUNK_EVENTS, time_ns))
			high = middle;
		else
			low = middle + 1;
	}
	if (!low)
		return chunks->count ? chunks->chunk[0].number * CHUNK_EVENTS : chunks->end;
	first = chunks->chunk[low - 1].number * CHUNK_EVENTS;
	for (uint64_t number = first + CHUNK_EVENTS; number > first; number--)
		if (chunks_copy(chunks, number - 1, &event) && is_in_time(&event) &&
		    event.time_ns <= time_ns)
			return number;
	return first;
}

void chunks_release(struct recorder_cpu *cpu, uint64_t holds, uint64_t before_ns)
{
	while (cpu->holds_released < holds) {
		const struct recorder_hold *hold = &cpu->hold[cpu->holds_released % HOLDS];
		uint64_t count = hold->count;
		uint32_t index = hold->newest;

		if (hold->upto_ns >= before_ns)
			return;
		for (uint64_t i = 0; i < count; i++) {
			struct recorder_chunk *chunk = &cpu->chunk[index % CHUNKS_MOST];

			/* Read first: a released chunk may change. */
			index = chunk->before;
			__atomic_fetch_add(&chunk->released, 1, __ATOMIC_RELEASE);
		}
		__atomic_fetch_add(&cpu->chunks_released, count, __ATOMIC_RELEASE);
		__atomic_fetch_add(&cpu->holds_released, 1, __ATOMIC_RELEASE);
	}
}

/* ---------------------------------------------------------------- windows */

/* through_switch - return one beyond the next switch, which reports the time stolen until then */
static uint64_t through_switch(const struct chunks *chunks, uint64_t from)
{
	struct recorder_event event;

	for (uint64_t number = from; number < chunks->end && number < from + FOLLOWING; number++)
		if (chunks_copy(chunks, number, &event) && event.kind == EVENT_SWITCH)
			return number + 1;
	return from;
}

/* add_later - add the stacks that were recorded after a window and belong to it, but for those
 * among [first, beyond), which it has */
static void add_later(struct window *window, const struct chunks *chunks,
		      const struct recorder_cpu *cpu, uint64_t first, uint64_t beyond)
{
	uint64_t end = __atomic_load_n((const uint64_t *)&cpu->laters, __ATOMIC_ACQUIRE);
	uint64_t number = end > LATER_MOST ? end - LATER_MOST : 0;

	for (; number < end; number++) {
		struct recorder_later later = cpu->later[number % LATER_MOST];
		struct recorder_event event;
		uint32_t events;

		if ((later.number >= first && later.number < beyond) ||
		    later.time_ns <= window->due_ns || later.time_ns > window->run_ns ||
		    !chunks_copy(chunks, later.number, &event) || event.kind != EVENT_STACK ||
		    event.time_ns != later.time_ns)
			continue;
		events = 1 + (event.b + 1u) / 2;
		for (uint32_t i = 0; i < events && window->count < WINDOW_EVENTS; i++)
			if (chunks_copy(chunks, later.number + i, &window->events[window->count]))
				window->count++;
	}
}

void window_copy(struct window *window, const struct recorder *recorder, uint16_t cpu)
{
	struct chunks chunks;
	uint64_t number, beyond;
	size_t first = WINDOW_EVENTS;
	bool switched = false;

	chunks_look(&chunks, recorder, cpu);
	number = chunks_until(&chunks, window->run_ns);
	window->count = 0;
	window->observed_ns = window->run_ns;
	/* Where the event that followed is overwritten, the window may be as well; but the very
	 * last events may be incomplete. */
	if (number + WRITING < chunks.end && !chunks_copy(&chunks, number, &window->events[0]))
		return;
	number = through_switch(&chunks, number);
	beyond = number;
	/* Backwards, into the end of the buffer: their number is known only at the switch. */
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
	add_later(window, &chunks, recorder->cpus[cpu], number, beyond);
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
