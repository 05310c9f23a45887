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

#define EVENTS "/sys/bus/event_source/devices/"

/* Of perf_event_attr.config: the bit that asks for the return, .../format/retprobe, and where the
 * offset of a counter begins, .../format/ref_ctr_offset. */
#define AT_RETURN     1u
#define COUNTER_SHIFT 32

uint32_t bpf_kprobe_type(void)
{
	return (uint32_t)small_file_number(AT_FDCWD, EVENTS "kprobe/type", "");
}

uint32_t bpf_uprobe_type(void)
{
	return (uint32_t)small_file_number(AT_FDCWD, EVENTS "uprobe/type", "");
}

bool bpf_uprobe_raises(void)
{
	return access(EVENTS "uprobe/format/ref_ctr_offset", F_OK) == 0;
}

int bpf_kprobe_attach(const struct bpf_kprobe *at, int program)
{
	struct perf_event_attr attributes;
	long fd;
	int error;

	memset(&attributes, 0, sizeof(attributes));
	attributes.type = at->type;
	attributes.size = sizeof(attributes);
	attributes.config =
	    (uint64_t)at->counter << COUNTER_SHIFT | (at->at_return ? AT_RETURN : 0);
	/* kprobe_func and probe_offset, or kprobe_addr; uprobe_path and probe_offset. */
	attributes.config1 = (uintptr_t)at->name;
	attributes.config2 = at->address;
	/* The program runs on all CPUs, wherever the event is. */
	fd = syscall(SYS_perf_event_open, &attributes, at->pid ? (pid_t)at->pid : -1,
		     at->pid ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
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
