// SPDX-License-Identifier: MIT
/*
 * Functions that others have put where the kernel calls them on a thread's way to its code: at
 * tracepoints, and as notifiers of the return to user code (KVM has one on x86).
 *
 * The kernel calls the functions of a tracepoint in the order in which they came, so theirs run
 * before the recorder's: what they take looks like time of the thread that has the CPU. The
 * kernel's own are left out: they are tracing, which others asked for, and short. What comes to a
 * tracepoint after the recorder is not seen.
 */
#ifndef WHYLATE_RECORDER_HOOKS_H
#define WHYLATE_RECORDER_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOOKS_MOST 16

/* The kernel's function that calls the notifiers. */
#define HOOKS_CALLS_RETURNS "fire_user_return_notifiers"

struct hook {
	char at[64];	  /* the tracepoint, or HOOKS_CALLS_RETURNS */
	char name[160];	  /* "function [module]", or "a BPF program"; empty: whatever is there */
	uint64_t address; /* of the function whose time is taken */
	bool is_program;  /* it calls BPF programs, and the kernel lets nobody time it */
	bool is_timed;	  /* set by the engine: each run of more than 2 us is recorded */
};

/* hooks_read - list them. functions_at: where in a struct tracepoint they are; 0: not known.
 * is_listed: set, whether the kernel shows what is at its tracepoints. Returns how many there are,
 * without those at tracepoints where it does not. */
size_t hooks_read(struct hook *hooks, size_t functions_at, bool *is_listed);

#endif
