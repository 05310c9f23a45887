/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Functions of others at tracepoints, and notifiers: see hooks.h of the engine.
 *
 * A program at the entry and one at the return of each such function (kprobe, kretprobe). They are
 * attached where there is such a function, and record what took long alone.
 */
#ifndef WHYLATE_RECORDER_BPF_HOOK_H
#define WHYLATE_RECORDER_BPF_HOOK_H

#include "cpu.h"

struct hlist_node {
	struct hlist_node *next;
} KERNEL;

/* CONFIG_USER_RETURN_NOTIFIER */
struct user_return_notifier {
	void *on_user_return;
	struct hlist_node link;
} KERNEL;

/* read_word - read a pointer of the kernel's; 0: there is none */
ALWAYS_INLINE __u64 read_word(const void *from)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), from);
	return value;
}

/* return_notifier - return the function of this CPU's only notifier of the return to user code; 0:
 * of several nobody knows which takes the time */
ALWAYS_INLINE __u64 return_notifier(void)
{
	struct user_return_notifier *notifier = 0;
	__u64 node = read_word(bpf_this_cpu_ptr(&return_list));

	if (!node || !kernel_has(notifier->link) || read_word((void *)node))
		return 0;
	notifier = (void *)(node - kernel_offset(notifier->link));
	return read_word(&notifier->on_user_return);
}

PROGRAM("kprobe/entry", hook_entry)
{
	__u64 caller = bpf_get_func_ip(context), function = 0;
	__u64 depth = cpu->hooks_open;

	/* What returned where the kernel could not watch for it would stay open for ever. */
	if (depth >= HOOKS_DEEPEST)
		depth = 0;
	if (config.shows_returns && caller == config.calls_returns)
		function = return_notifier();
	cpu->hooks[depth].caller = caller;
	cpu->hooks[depth].function = function ? function : caller;
	cpu->hooks[depth].since_ns = now;
	cpu->hooks_open = depth + 1;
}

PROGRAM("kprobe/return", hook_return)
{
	__u64 caller = bpf_get_func_ip(context);
	__u64 depth = cpu->hooks_open;

#pragma clang loop unroll(full)
	for (int i = 0; i < HOOKS_DEEPEST; i++) {
		if (!depth || depth > HOOKS_DEEPEST)
			return;
		depth--;
		if (cpu->hooks[depth & (HOOKS_DEEPEST - 1)].caller == caller)
			break;
	}
	depth &= HOOKS_DEEPEST - 1;
	if (cpu->hooks[depth].caller != caller)
		return;
	cpu->hooks_open = depth;
	record_span(cpu, now, EVENT_HOOK, cpu->hooks[depth].since_ns, cpu->hooks[depth].function);
}

#endif
