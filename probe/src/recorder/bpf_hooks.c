// SPDX-License-Identifier: MIT
#include "bpf_hooks.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf_sources.h"
#include "small_file.h"

#define KPROBES "/sys/bus/event_source/devices/kprobe/type"

/* The bit of perf_event_attr.config that asks for the return: .../kprobe/format/retprobe. */
#define AT_RETURN 1u

void bpf_hooks_find(struct recorder *recorder, size_t functions_at)
{
	struct bpf_engine *engine = recorder->state;

	recorder->hook_count = hooks_read(recorder->hooks, functions_at, &recorder->shows_hooks);
	for (size_t i = 0; i < recorder->hook_count; i++)
		if (!strcmp(recorder->hooks[i].at, HOOKS_CALLS_RETURNS))
			engine->config.calls_returns = recorder->hooks[i].address;
}

/* attach - run a program at the entry of a function, or at its return; returns a descriptor or -1
 */
static int attach(uint32_t type, uint64_t address, uint64_t config, int program)
{
	struct perf_event_attr attributes;
	long fd;

	memset(&attributes, 0, sizeof(attributes));
	attributes.type = type;
	attributes.size = sizeof(attributes);
	attributes.config = config;
	/* By its address: kprobe_func is 0. */
	attributes.config2 = address;
	/* The program runs on all CPUs, wherever the event is. */
	fd = syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (ioctl((int)fd, PERF_EVENT_IOC_SET_BPF, program) ||
	    ioctl((int)fd, PERF_EVENT_IOC_ENABLE, 0)) {
		close((int)fd);
		return -1;
	}
	return (int)fd;
}

void bpf_hooks_attach(struct recorder *recorder)
{
	struct bpf_engine *engine = recorder->state;
	int entry = engine->programs[bpf_hook_entry];
	int at_return = engine->programs[bpf_hook_return];
	char text[16];
	uint32_t type;

	if (entry < 0 || at_return < 0 || !small_file_line(AT_FDCWD, KPROBES, text, sizeof(text)))
		return;
	type = (uint32_t)strtoul(text, NULL, 10);
	for (size_t i = 0; i < recorder->hook_count; i++) {
		struct hook *hook = &recorder->hooks[i];
		int *links = engine->hook_links[i];

		/* What runs BPF programs runs the recorder's, too. */
		if (hook->is_program || links[0] >= 0)
			continue;
		/* Returns before entries: one without its entry is skipped. */
		links[1] = attach(type, hook->address, AT_RETURN, at_return);
		if (links[1] >= 0)
			links[0] = attach(type, hook->address, 0, entry);
		hook->is_timed = links[0] >= 0 && links[1] >= 0;
	}
}

static void close_links(int *links)
{
	for (size_t i = 0; i < 2; i++) {
		if (links[i] >= 0)
			close(links[i]);
		links[i] = -1;
	}
}

void bpf_hooks_detach(struct recorder *recorder)
{
	struct bpf_engine *engine = recorder->state;

	/* Who calls notifiers is called only where there are some: it costs nothing elsewhere, and
	 * the kernel takes long to let go of a function. */
	for (size_t i = 0; i < recorder->hook_count; i++)
		if (strcmp(recorder->hooks[i].at, HOOKS_CALLS_RETURNS) != 0)
			close_links(engine->hook_links[i]);
}

void bpf_hooks_close(struct bpf_engine *engine)
{
	for (size_t i = 0; i < HOOKS_MOST; i++)
		close_links(engine->hook_links[i]);
}
