// SPDX-License-Identifier: MIT
/*
 * What others have at the tracepoint sched_switch when the recorder comes to it.
 *
 * The kernel calls the functions of a tracepoint in the order in which they came, so theirs run
 * before the recorder's: their time passes before the switch that it records, as if the thread that
 * leaves the CPU had taken it. The kernel's own are left out: they are tracing, which others asked
 * for, and short. A function with a higher priority that comes later is not seen.
 */
#ifndef WHYLATE_RECORDER_SWITCH_HOOKS_H
#define WHYLATE_RECORDER_SWITCH_HOOKS_H

#include <stddef.h>
#include <stdint.h>

#define SWITCH_HOOKS_MOST 8

struct switch_hook {
	char name[160]; /* "function [module]", or "a BPF program" */
};

/* switch_hooks_read - list them. functions_at: where in a struct tracepoint they are; 0: not known.
 * Returns how many there are; -1 where that is not known. */
int switch_hooks_read(struct switch_hook *hooks, size_t functions_at);

#endif
