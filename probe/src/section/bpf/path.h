/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The call paths at the end of longer executions, and of some others as their control.
 *
 * A stack is walked once the duration is known and the owner is released. What the probe has not
 * read is never overwritten: so no more than SECTION_PATHS stacks are walked between two of its
 * looks, however many executions are longer.
 */
#ifndef WHYLATE_SECTION_BPF_PATH_H
#define WHYLATE_SECTION_BPF_PATH_H

#include "owner.h"

/* Maps of struct section_paths: of ends, and of what was seen of executions before. */
char section_paths SECTION("maps");
char section_samples SECTION("maps");

/* is_control - whether an execution that was not longer has a path: the gaps are random, for what
 * comes in turns would else be drawn in step */
ALWAYS_INLINE bool is_control(struct section_paths *paths)
{
	if (paths->until_control) {
		paths->until_control--;
		return 0;
	}
	paths->until_control = bpf_get_prandom_u32() % (2 * paths->control_one_in - 1);
	return 1;
}

/* has_room - whether a path of a CPU may be written; if it is of a longer execution, and there is
 * none, it is counted */
ALWAYS_INLINE bool has_room(struct section_paths *paths, bool is_longer)
{
	if (paths->written - *(volatile __u64 *)&paths->read < SECTION_PATHS - SECTION_PATHS_GUARD)
		return 1;
	if (is_longer)
		count(&paths->lost, 1);
	return 0;
}

/* begin_path - begin to write a path of a CPU, whose number comes last */
ALWAYS_INLINE struct section_path *begin_path(struct section_paths *paths, __u64 duration_ns,
					      __u64 pid_tgid, bool is_longer, __u64 *number)
{
	struct section_path *path;

	*number = __sync_fetch_and_add(&paths->written, 1);
	path = &paths->paths[*number % SECTION_PATHS];
	path->duration_ns = duration_ns;
	path->pid = pid_tgid >> 32;
	path->is_longer = is_longer;
	return path;
}

/* keep_path - keep the call path of an execution that has ended, if it was longer or is drawn */
ALWAYS_INLINE void keep_path(const struct section_cpu *cpu, __u64 duration_ns, bool is_drawn,
			     __u64 pid_tgid, void *context)
{
	bool is_longer = duration_ns > cpu->longer_ns;
	__u32 here = bpf_get_smp_processor_id();
	struct section_paths *paths;
	struct section_path *path;
	__u64 number;

	if (!cpu->longer_ns || (!is_longer && !is_drawn))
		return;
	paths = bpf_map_lookup_elem(&section_paths, &here);
	if (!paths || (!is_longer && !is_control(paths)))
		return;
	if (!has_room(paths, is_longer))
		return;
	path = begin_path(paths, duration_ns, pid_tgid, is_longer, &number);
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < SECTION_PATH_CALLERS; i++)
		path->callers[i] = 0;
	bpf_get_stack(context, path->callers, sizeof(path->callers), wanted.path_flags);
	/* The probe sees it after the rest, on every architecture. */
	__sync_lock_test_and_set(&path->number, number + 1);
}

/* keep_sample - keep where an execution that has ended was seen, if it is drawn or was longer */
ALWAYS_INLINE void keep_sample(const struct section_cpu *cpu, const struct section_owner *owner,
			       const struct section_frame *frame, __u64 duration_ns, __u64 pid_tgid)
{
	bool is_longer = duration_ns > cpu->longer_ns;
	__u32 here = bpf_get_smp_processor_id();
	struct section_paths *paths;
	struct section_path *path;
	__u64 number;

	/* One within it may have been seen since. */
	if (!frame->samples || owner->sample.of != frame->begin_ns || !cpu->longer_ns ||
	    (!is_longer && !frame->flags))
		return;
	paths = bpf_map_lookup_elem(&section_samples, &here);
	if (!paths || !has_room(paths, is_longer))
		return;
	path = begin_path(paths, duration_ns, pid_tgid, is_longer, &number);
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < SECTION_PATH_CALLERS; i++)
		path->callers[i] = owner->sample.callers[i];
	__sync_lock_test_and_set(&path->number, number + 1);
}

#endif
