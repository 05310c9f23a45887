// SPDX-License-Identifier: MIT
#include "rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Enough for the events around one late wakeup. */
#define LEAST_EVENTS 1024u

static size_t room(const struct recorder *recorder)
{
	return sizeof(struct recorder_cpu) +
	       (size_t)recorder->ring_size * sizeof(struct recorder_event);
}

int rings_open(struct recorder *recorder, const bool *present, uint16_t cpu_limit,
	       uint64_t ring_bytes)
{
	uint64_t most = ring_bytes / sizeof(struct recorder_event);

	recorder->ring_size = LEAST_EVENTS;
	/* As far as it can be addressed, too. */
	most = most < SIZE_MAX / 64 ? most : SIZE_MAX / 64;
	while (recorder->ring_size <= most / 2 && recorder->ring_size < CHUNKS_MOST * CHUNK_EVENTS)
		recorder->ring_size *= 2;
	recorder->cpu_limit = cpu_limit;
	recorder->cpus = calloc(cpu_limit, sizeof(*recorder->cpus));
	recorder->events = calloc(cpu_limit, sizeof(*recorder->events));
	if (!recorder->cpus || !recorder->events)
		goto failed;
	for (uint16_t i = 0; i < cpu_limit; i++) {
		void *memory;

		if (!present[i])
			continue;
		/* All of it now: later a page fault would cost time while the board is measured. */
		memory = mmap(NULL, room(recorder), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (memory == MAP_FAILED)
			goto failed;
		recorder->cpus[i] = memory;
		recorder->events[i] =
		    (struct recorder_event *)((char *)memory + sizeof(struct recorder_cpu));
	}
	return 0;

failed:
	rings_close(recorder);
	return ENOMEM;
}

void rings_put(struct recorder *recorder, uint16_t cpu, const struct recorder_event *event)
{
	struct recorder_cpu *state = recorder->cpus[cpu];
	uint64_t number = state->events;
	struct recorder_event *slot = &recorder->events[cpu][number & (recorder->ring_size - 1)];

	/* One after the other: who reads is who writes, and holds nothing. */
	if (number % CHUNK_EVENTS == 0)
		state->chunk[number / CHUNK_EVENTS % (recorder->ring_size / CHUNK_EVENTS)].number =
		    1 + number / CHUNK_EVENTS;
	*slot = *event;
	__atomic_store_n(&slot->seq, (uint32_t)(number + 1), __ATOMIC_RELEASE);
	__atomic_store_n(&state->events, number + 1, __ATOMIC_RELEASE);
}

void rings_close(struct recorder *recorder)
{
	for (uint16_t i = 0; i < recorder->cpu_limit && recorder->cpus; i++)
		if (recorder->cpus[i])
			munmap(recorder->cpus[i], room(recorder));
	free(recorder->cpus);
	free(recorder->events);
	recorder->cpus = NULL;
	recorder->events = NULL;
}
