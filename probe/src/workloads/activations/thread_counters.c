// SPDX-License-Identifier: MIT
#include "thread_counters.h"

#include <stdlib.h>

#include "wire/send.h"

static void free_counters(struct counters *counters, size_t count)
{
	for (size_t i = 0; i < count; i++)
		counters_close(&counters[i]);
	free(counters);
}

struct counters *thread_counters_start(const struct wakeup_threads *threads,
				       const struct counter_set *set, struct sender *sender)
{
	struct counters *counters = set->count ? calloc(threads->count, sizeof(*counters)) : NULL;
	size_t bad;

	for (size_t i = 0; counters && i < threads->count; i++) {
		if (!counters_open_thread(&counters[i], set, (pid_t)threads->cpus[i].tid, &bad))
			continue;
		send_note(sender, "counters",
			  "nothing was counted: the counters that could be had of the probe cannot "
			  "be of its threads");
		free_counters(counters, i + 1);
		return NULL;
	}
	for (size_t i = 0; counters && i < threads->count; i++)
		counters_begin(&counters[i]);
	return counters;
}

static void send_counts(struct counters *counters, uint16_t cpu, struct sender *sender)
{
	uint64_t values[WIRE_MOST_COUNTERS];
	uint8_t room[sizeof(values)];
	size_t bad;

	counters_end(counters);
	if (counters_read(counters, values, &bad))
		SEND(sender, cpu_events, CPU_EVENTS, .cpu = cpu,
		     .values = wire_list_of_u64(room, values, counters->count));
	else
		send_note(sender, "counters", "counter %zu of CPU %u " COUNTERS_SHARED, bad + 1,
			  cpu);
}

void thread_counters_send(struct counters *counters, const struct wakeup_threads *threads,
			  struct sender *sender)
{
	if (!counters)
		return;
	for (size_t i = 0; i < threads->count; i++)
		send_counts(&counters[i], threads->cpus[i].cpu, sender);
	free_counters(counters, threads->count);
}
