// SPDX-License-Identifier: MIT
#include "section_counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "benchmark/counters.h"
#include "failure.h"
#include "section/section.h"

/* is_counting - whether a group is on its CPU: reading it gives nothing once it found no room */
static bool is_counting(int leader)
{
	struct counter_reading reading;

	return read(leader, &reading, sizeof(reading)) == (ssize_t)sizeof(reading);
}

/* open_group - count the events on a CPU; returns 0, or an errno with the text */
static int open_group(struct section_counters *counters, const struct section *section,
		      const struct counter_set *set, uint16_t cpu, char *text)
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
		error = section_count(section, cpu, (uint32_t)i, fd);
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

int section_counters_open(struct section_counters *counters, const struct section *section,
			  const struct counter_set *set, char *text)
{
	uint16_t cpus = section->plan.cpu_limit;

	*counters = (struct section_counters){0};
	if (!set->count)
		return 0;
	counters->fds = calloc((size_t)cpus * set->count, sizeof(*counters->fds));
	if (!counters->fds)
		return fail(text, ENOMEM, "no memory for counters");
	for (uint16_t cpu = 0; cpu < cpus; cpu++) {
		int error = open_group(counters, section, set, cpu, text);

		if (!error || error == ENODEV)
			continue;
		section_counters_close(counters);
		return error;
	}
	if (counters->count)
		return 0;
	section_counters_close(counters);
	return fail(text, ENODEV, "counter 1 cannot be counted on any CPU");
}

void section_counters_close(struct section_counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		close(counters->fds[i]);
	free(counters->fds);
	*counters = (struct section_counters){0};
}
