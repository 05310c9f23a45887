// SPDX-License-Identifier: MIT
#include "cpu_counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "benchmark/counters.h"
#include "bpf/map.h"
#include "failure.h"

int cpu_counters_open(struct cpu_counters *counters, const struct counter_set *set, size_t cpus)
{
	*counters = (struct cpu_counters){0};
	if (!set->count)
		return 0;
	counters->fds = calloc(cpus * set->count, sizeof(*counters->fds));
	return counters->fds ? 0 : ENOMEM;
}

/* is_counting - whether a group is on its CPU: reading it gives nothing once it found no room */
static bool is_counting(int leader)
{
	struct counter_reading reading;

	return read(leader, &reading, sizeof(reading)) == (ssize_t)sizeof(reading);
}

int cpu_counters_add(struct cpu_counters *counters, const struct counter_set *set, uint16_t cpu,
		     int map, uint32_t each, char *text)
{
	int leader = -1, error = 0;

	for (size_t i = 0; i < set->count && !error; i++) {
		int fd = counters_open_on_cpu(&set->events[i], cpu, leader);

		/* A CPU that is offline. */
		if (fd == -ENODEV && i == 0)
			return ENODEV;
		if (fd < 0)
			return fail(text, -fd,
				    "counter %zu cannot be counted on CPU %u%s: %s; name fewer "
				    "events",
				    i + 1, cpu, i ? " together with those that precede it" : "",
				    strerror(-fd));
		counters->fds[counters->count++] = fd;
		if (leader < 0)
			leader = fd;
		error = bpf_map_set(map, cpu * each + (uint32_t)i, (uint32_t)fd);
		if (error)
			return fail(text, error, "counter %zu cannot be read by programs: %s",
				    i + 1, strerror(error));
	}
	if (ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) || !is_counting(leader))
		return fail(text, EBUSY,
			    "counter 1 and those with it have no room on CPU %u: others use the "
			    "hardware's counters (kernel.nmi_watchdog is one), or there are too "
			    "few; name fewer events",
			    cpu);
	return 0;
}

void cpu_counters_close(struct cpu_counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		close(counters->fds[i]);
	free(counters->fds);
	*counters = (struct cpu_counters){0};
}
