// SPDX-License-Identifier: MIT
#include "samples.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/program.h"
#include "section/bpf/programs.h"

void samples_init(struct section_sampling *sampling)
{
	sampling->program = -1;
	sampling->count = 0;
}

void samples_load(struct section_sampling *sampling, const struct bpf_fds *fds)
{
	const struct bpf_load_as as = {BPF_PROG_TYPE_PERF_EVENT, 0, 0};

	sampling->program = bpf_program_load(&programs[PROGRAM_SAMPLE_LOOK], fds, &as, NULL, 0);
}

/* open_on - run the program on a CPU every so many ns; returns a descriptor, or -1 with errno */
static int open_on(int program, uint16_t cpu, uint64_t every_ns)
{
	struct perf_event_attr attributes;
	int fd, error;

	memset(&attributes, 0, sizeof(attributes));
	attributes.type = PERF_TYPE_SOFTWARE;
	attributes.size = sizeof(attributes);
	attributes.config = PERF_COUNT_SW_CPU_CLOCK;
	attributes.sample_period = every_ns;
	attributes.disabled = 1;
	fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) && !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

bool samples_attach(struct section_sampling *sampling, uint16_t cpu_limit, uint64_t every_ns)
{
	if (sampling->program < 0)
		return false;
	for (uint16_t cpu = 0; cpu < cpu_limit; cpu++) {
		int fd = open_on(sampling->program, cpu, every_ns);

		/* A CPU that is offline. */
		if (fd < 0 && errno == ENODEV)
			continue;
		if (fd < 0) {
			samples_detach(sampling);
			return false;
		}
		sampling->events[sampling->count++] = fd;
	}
	return sampling->count > 0;
}

void samples_detach(struct section_sampling *sampling)
{
	while (sampling->count)
		close(sampling->events[--sampling->count]);
}

void samples_unload(struct section_sampling *sampling)
{
	samples_detach(sampling);
	if (sampling->program >= 0)
		close(sampling->program);
	sampling->program = -1;
}
