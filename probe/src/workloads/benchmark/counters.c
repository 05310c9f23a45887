// SPDX-License-Identifier: MIT
#include "counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "failure.h"

static struct perf_event_attr attributes(const struct counter_event *event)
{
	return (struct perf_event_attr){
	    .type = (uint32_t)event->type,
	    .size = sizeof(struct perf_event_attr),
	    .config = event->config,
	    .config1 = (uintptr_t)event->function,
	    .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	    .exclude_kernel = (event->mode & COUNTER_NOT_KERNEL) != 0,
	    .exclude_user = (event->mode & COUNTER_NOT_USER) != 0,
	    .exclude_hv = (event->mode & COUNTER_NOT_HYPERVISOR) != 0,
	};
}

static int open_event(struct perf_event_attr *attr, pid_t thread, int cpu, int leader)
{
	long fd = syscall(SYS_perf_event_open, attr, thread, cpu, leader, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int counters_open_event(const struct counter_event *event, pid_t thread, int cpu)
{
	struct perf_event_attr attr = attributes(event);

	attr.inherit = thread == 0;
	return open_event(&attr, thread, cpu, -1);
}

int counters_open_on_cpu(const struct counter_event *event, int cpu, int leader)
{
	struct perf_event_attr attr = attributes(event);

	attr.pinned = attr.disabled = leader < 0;
	return open_event(&attr, -1, cpu, leader);
}

int counters_open(struct counters *counters, const struct counter_set *set, pid_t thread,
		  size_t *bad)
{
	counters->count = 0;
	for (size_t i = 0; i < set->count; i++) {
		int fd = counters_open_event(&set->events[i], thread, -1);

		if (fd < 0) {
			*bad = i;
			return -fd;
		}
		counters->fds[counters->count++] = fd;
	}
	return 0;
}

void counters_close(struct counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		close(counters->fds[i]);
	counters->count = 0;
}

int counters_choose(struct counter_set *set, const struct wire_counters *wanted, char *text)
{
	struct counters counters;
	size_t bad = 0;
	int error;

	if (wanted->types.count > WIRE_MOST_COUNTERS ||
	    wanted->configs.count != wanted->types.count ||
	    wanted->modes.count != wanted->types.count)
		return fail(text, E2BIG, "at most %u events can be counted at a time",
			    WIRE_MOST_COUNTERS);
	set->count = wanted->types.count;
	for (size_t i = 0; i < set->count; i++)
		set->events[i] = (struct counter_event){
		    .type = wire_list_u64(wanted->types, i),
		    .config = wire_list_u64(wanted->configs, i),
		    .mode = wire_list_u16(wanted->modes, i),
		};
	/* Refuse it now, not in every repetition. */
	error = counters_open(&counters, set, 0, &bad);
	counters_close(&counters);
	if (error)
		set->count = 0;
	return fail(text, error, "%zu", bad);
}

static struct counter_reading read_counter(int fd)
{
	struct counter_reading reading;

	/* A counter that cannot be read counts as one that never ran. */
	if (read(fd, &reading, sizeof(reading)) != (ssize_t)sizeof(reading))
		reading = (struct counter_reading){.enabled_ns = 1};
	return reading;
}

void counters_begin(struct counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		counters->began[i] = read_counter(counters->fds[i]);
}

void counters_end(struct counters *counters)
{
	for (size_t i = 0; i < counters->count; i++) {
		struct counter_reading now = read_counter(counters->fds[i]);
		struct counter_reading *reading = &counters->began[i];

		reading->value = now.value - reading->value;
		reading->enabled_ns = now.enabled_ns - reading->enabled_ns;
		reading->running_ns = now.running_ns - reading->running_ns;
	}
}

bool counters_read(const struct counters *counters, uint64_t *values, size_t *bad)
{
	for (size_t i = 0; i < counters->count; i++) {
		const struct counter_reading *reading = &counters->began[i];

		if (!reading->enabled_ns || reading->running_ns != reading->enabled_ns) {
			*bad = i;
			return false;
		}
		values[i] = reading->value;
	}
	return true;
}
