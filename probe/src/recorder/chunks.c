// SPDX-License-Identifier: MIT
#include "chunks.h"

#include <stdlib.h>

static int by_number(const void *left, const void *right)
{
	/* The number is the first member. */
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

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
	qsort(chunks->chunk, chunks->count, sizeof(chunks->chunk[0]), by_number);
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

uint64_t chunks_until(const struct chunks *chunks, uint64_t time_ns)
{
	size_t low = 0, high = chunks->count;
	struct recorder_event event;
	uint64_t first;

	/* One whose first event cannot be read is taken for old: it was overwritten by a newer. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		first = chunks->chunk[middle].number * CHUNK_EVENTS;
		if (chunks_copy(chunks, first, &event) && event.time_ns > time_ns)
			high = middle;
		else
			low = middle + 1;
	}
	if (!low)
		return chunks->count ? chunks->chunk[0].number * CHUNK_EVENTS : chunks->end;
	first = chunks->chunk[low - 1].number * CHUNK_EVENTS;
	for (uint64_t number = first + CHUNK_EVENTS; number > first; number--)
		if (chunks_copy(chunks, number - 1, &event) && event.time_ns <= time_ns)
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

			/* Once it is released, what was before it may change. */
			index = chunk->before;
			__atomic_fetch_add(&chunk->released, 1, __ATOMIC_RELEASE);
		}
		__atomic_fetch_add(&cpu->chunks_released, count, __ATOMIC_RELEASE);
		__atomic_fetch_add(&cpu->holds_released, 1, __ATOMIC_RELEASE);
	}
}
