// SPDX-License-Identifier: MIT
#include "flushes.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "failure.h"
#include "small_file.h"
#include "tracefs/mount.h"

/* A switch to an address space whose identifier is still valid is reported too, as a flush of no
 * pages. */
#define FILTER "reason == %d && pages != 0"

#if defined(__x86_64__)
#define IS_REPORTED true
#else
/* The tracepoint exists, but no switch passes it: report no count rather than 0. */
#define IS_REPORTED false
#endif

/* tracepoint_id - read the id that perf_event_open(2) takes; negative: an errno */
static long tracepoint_id(void)
{
	char text[FAILURE_TEXT];
	int root, error = mount_open(&root, text);

	if (error)
		return -error;
	error = small_file_read(root, "events/tlb/tlb_flush/id", text, sizeof(text));
	close(root);
	return error ? -error : strtol(text, NULL, 10);
}

static int open_on(long id, int cpu, int reason)
{
	char filter[64];
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_TRACEPOINT,
	    .size = sizeof(attr),
	    .config = (uint64_t)id,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	int error;

	if (fd < 0)
		return -errno;
	snprintf(filter, sizeof(filter), FILTER, reason);
	if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

int flushes_open(struct flush_counter *counter, struct wire_list cpus, size_t count, int reason)
{
	long id = IS_REPORTED ? tracepoint_id() : -ENOENT;

	counter->count = 0;
	if (id < 0)
		return (int)-id;
	if (!count)
		return EDOM;
	if (count > WIRE_MOST_CPUS)
		return E2BIG;
	for (size_t i = 0; i < count; i++) {
		int fd = open_on(id, wire_list_u16(cpus, i), reason);

		if (fd < 0) {
			flushes_close(counter);
			return -fd;
		}
		counter->fds[counter->count++] = fd;
	}
	return 0;
}

uint64_t flushes_read(const struct flush_counter *counter)
{
	uint64_t sum = 0, value;

	for (size_t i = 0; i < counter->count; i++)
		if (read(counter->fds[i], &value, sizeof(value)) == (ssize_t)sizeof(value))
			sum += value;
	return sum;
}

void flushes_close(struct flush_counter *counter)
{
	for (size_t i = 0; i < counter->count; i++)
		close(counter->fds[i]);
	counter->count = 0;
}
