/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where a thread is in its own code while it is in the section: a clock event of its CPU looks from
 * time to time.
 *
 * One of the stacks of an execution is kept, drawn at random, until it is known how long it took.
 * An interrupt cannot come where interrupts are disabled: it comes once they are enabled, and the
 * thread is seen there.
 */
#ifndef WHYLATE_SECTION_BPF_SAMPLE_H
#define WHYLATE_SECTION_BPF_SAMPLE_H

#include "parts.h"

/* is_spin - whether that is in a function that waits by spinning */
ALWAYS_INLINE bool is_spin(__u64 address)
{
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < SECTION_SPINS; i++)
		if (address >= wanted.spins[i].begin && address < wanted.spins[i].end)
			return 1;
	return 0;
}

SECTION("perf_event/sample") int sample_look(void *context)
{
	struct section_owner *owner = in_section(bpf_get_current_pid_tgid());
	struct section_cpu *cpu = cpu_here();
	struct section_frame *newest;
	struct section_sample *sample;
	__u64 here = 0;

	/* What waits for a lock, or faults, is not in its own code. */
	if (!owner || !cpu || owner->lock_ns || owner->fault_ns)
		return 0;
	newest = frame_at(owner, (owner->state & OWNER_DEPTH) - 1);
	/* Nor is what was interrupted before the clock came. */
	if (cpu->level > newest->level + 1ull)
		return 0;
	bpf_get_stack(context, &here, sizeof(here), 0);
	newest->samples++;
	if (is_spin(here))
		newest->spins++;
	if (bpf_get_prandom_u32() % newest->samples)
		return 0;
	sample = &owner->sample;
	sample->of = newest->begin_ns;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < SECTION_PATH_CALLERS; i++)
		sample->callers[i] = 0;
	bpf_get_stack(context, sample->callers, sizeof(sample->callers), wanted.path_flags);
	return 0;
}

#endif
