// SPDX-License-Identifier: MIT
/* Counters of the wakeup threads: what they did from their go to the end, beside their latencies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session_parts.h"

static void say(struct session *session, const char *text)
{
	SEND(session, note, NOTE, .code = wire_text("counters"), .text = wire_text(text));
}

static void release(struct session *session, size_t count)
{
	for (size_t i = 0; i < count; i++)
		counters_close(&session->thread_counters[i]);
	free(session->thread_counters);
	session->thread_counters = NULL;
}

void events_begin(struct session *session)
{
	const struct wakeup *wakeup = &session->wakeup;
	size_t bad;

	if (!session->counter_set.count)
		return;
	session->thread_counters = calloc(wakeup->count, sizeof(*session->thread_counters));
	for (size_t i = 0; session->thread_counters && i < wakeup->count; i++) {
		int error =
		    counters_open_thread(&session->thread_counters[i], &session->counter_set,
					 (pid_t)wakeup->cpus[i].tid, &bad);

		if (error) {
			say(session, "nothing was counted: the counters that could be had of the "
				     "probe cannot be of its threads");
			release(session, i + 1);
			return;
		}
	}
	for (size_t i = 0; session->thread_counters && i < wakeup->count; i++)
		counters_begin(&session->thread_counters[i]);
}

static void tell(struct session *session, uint16_t cpu, struct counters *counters)
{
	uint64_t values[MOST_COUNTERS];
	uint8_t stored[8 * MOST_COUNTERS];
	struct wire_list list = {stored, 8 * counters->count, (uint16_t)counters->count};
	char text[160];
	size_t bad;

	counters_end(counters);
	if (!counters_take(counters, values, &bad)) {
		snprintf(text, sizeof(text),
			 "counter %zu of CPU %u was not counted all the time: others use the "
			 "hardware's counters, or there are too few for so many events",
			 bad + 1, cpu);
		say(session, text);
		return;
	}
	for (size_t i = 0; i < counters->count; i++)
		wire_store(stored + 8 * i, values[i], 8);
	SEND(session, cpu_events, CPU_EVENTS, .cpu = cpu, .values = list);
}

void events_tell(struct session *session)
{
	const struct wakeup *wakeup = &session->wakeup;

	if (!session->thread_counters)
		return;
	for (size_t i = 0; i < wakeup->count; i++)
		tell(session, wakeup->cpus[i].cpu, &session->thread_counters[i]);
	release(session, wakeup->count);
}
