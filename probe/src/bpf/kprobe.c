// SPDX-License-Identifier: MIT
#include "kprobe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "small_file.h"

#define KPROBES "/sys/bus/event_source/devices/kprobe/type"

/* The bit of perf_event_attr.config that asks for the return: .../kprobe/format/retprobe. */
#define AT_RETURN 1u

uint32_t bpf_kprobe_type(void)
{
	return (uint32_t)small_file_number(AT_FDCWD, KPROBES, "");
}

int bpf_kprobe_attach(const struct bpf_kprobe *at, int program)
{
	struct perf_event_attr attributes;
	long fd;
	int error;

	memset(&attributes, 0, sizeof(attributes));
	attributes.type = at->type;
	attributes.size = sizeof(attributes);
	attributes.config = at->at_return ? AT_RETURN : 0;
	/* kprobe_func and probe_offset, or kprobe_addr. */
	attributes.config1 = (uintptr_t)at->function;
	attributes.config2 = at->function ? 0 : at->address;
	/* The program runs on all CPUs, wherever the event is. */
	fd = syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!ioctl((int)fd, PERF_EVENT_IOC_SET_BPF, program) &&
	    !ioctl((int)fd, PERF_EVENT_IOC_ENABLE, 0))
		return (int)fd;
	error = errno;
	close((int)fd);
	errno = error;
	return -1;
}
