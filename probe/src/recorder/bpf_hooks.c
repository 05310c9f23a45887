// SPDX-License-Identifier: MIT
#include "bpf_hooks.h"

#include <string.h>
#include <unistd.h>

#include "bpf/kprobe.h"
#include "bpf_sources.h"

void bpf_hooks_find(struct recorder *recorder, size_t functions_at)
{
	struct bpf_engine *engine = recorder->state;

	recorder->hook_count = hooks_read(recorder->hooks, functions_at, &recorder->shows_hooks);
	for (size_t i = 0; i < recorder->hook_count; i++)
		if (!strcmp(recorder->hooks[i].at, HOOKS_CALLS_RETURNS))
			engine->config.calls_returns = recorder->hooks[i].address;
}

void bpf_hooks_attach(struct recorder *recorder)
{
	struct bpf_engine *engine = recorder->state;
	int entry = engine->programs[bpf_hook_entry];
	int at_return = engine->programs[bpf_hook_return];
	uint32_t type = bpf_kprobe_type();

	if (entry < 0 || at_return < 0 || !type)
		return;
	for (size_t i = 0; i < recorder->hook_count; i++) {
		struct hook *hook = &recorder->hooks[i];
		int *links = engine->hook_links[i];

		/* What runs BPF programs runs the recorder's, too. */
		if (hook->is_program || links[0] >= 0)
			continue;
		/* Returns before entries: one without its entry is skipped. */
		links[1] = bpf_kprobe_attach(
		    &(struct bpf_kprobe){.type = type, .address = hook->address, .at_return = true},
		    at_return);
		if (links[1] >= 0)
			links[0] = bpf_kprobe_attach(
			    &(struct bpf_kprobe){.type = type, .address = hook->address}, entry);
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
