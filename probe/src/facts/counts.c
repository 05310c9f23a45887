// SPDX-License-Identifier: MIT
#include "counts.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING lays it out. */
struct reading {
	uint64_t value, enabled_ns, running_ns;
};

static int open_counter(uint64_t event, uint16_t cpu, bool user_only)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_HARDWARE,
	    .size = sizeof(attr),
	    .config = event,
	    .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	    .disabled = 1,
	    .exclude_kernel = user_only,
	    .exclude_hv = user_only,
	};
	/* Told the CPU, a board of several kinds of CPUs takes the counters of the right kind. */
	long fd = syscall(SYS_perf_event_open, &attr, 0, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int open_any(uint64_t event, uint16_t cpu)
{
	int fd = open_counter(event, cpu, true);

	/* Old ARM counters, the Cortex-A9's among them, cannot leave the kernel out. */
	if (fd == -EPERM || fd == -EINVAL || fd == -EOPNOTSUPP) {
		int all = open_counter(event, cpu, false);

		if (all >= 0)
			return all;
	}
	return fd;
}

static struct count close_counter(int fd)
{
	struct count count = {0};
	struct reading reading = {0};

	if (fd < 0) {
		count.error = -fd;
		return count;
	}
	if (read(fd, &reading, sizeof(reading)) != (ssize_t)sizeof(reading))
		count.error = EIO;
	else if (reading.running_ns < reading.enabled_ns || !reading.enabled_ns)
		/* A part of the stretch was not counted, or all of it. */
		count.error = EBUSY;
	else
		count.value = reading.value;
	close(fd);
	return count;
}

void counts_start(struct counting *counting, uint16_t cpu)
{
	counting->cycles = open_any(PERF_COUNT_HW_CPU_CYCLES, cpu);
	counting->instructions = open_any(PERF_COUNT_HW_INSTRUCTIONS, cpu);
	if (counting->instructions >= 0)
		ioctl(counting->instructions, PERF_EVENT_IOC_ENABLE, 0);
	if (counting->cycles >= 0)
		ioctl(counting->cycles, PERF_EVENT_IOC_ENABLE, 0);
}

void counts_stop(struct counting *counting, struct counts *counts)
{
	if (counting->cycles >= 0)
		ioctl(counting->cycles, PERF_EVENT_IOC_DISABLE, 0);
	if (counting->instructions >= 0)
		ioctl(counting->instructions, PERF_EVENT_IOC_DISABLE, 0);
	counts->cycles = close_counter(counting->cycles);
	counts->instructions = close_counter(counting->instructions);
}
