/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a thread does while it is in the section beside running its code: it is interrupted,
 * preempted, sleeps, waits for a lock, faults. Each ns is in one part.
 */
#ifndef WHYLATE_SECTION_BPF_PARTS_H
#define WHYLATE_SECTION_BPF_PARTS_H

#include "owner.h"

/* in_section - the owner that a thread is, while it is in the section; NULL */
ALWAYS_INLINE struct section_owner *in_section(__u64 pid_tgid)
{
	struct section_owner *owner = find_owner(thread_key(pid_tgid));

	return owner && owner->state & OWNER_DEPTH ? owner : 0;
}

/* ---------------------------------------------------------------- preempted, asleep */

SECTION("tp_btf/sched_switch") int part_switch(__u64 *context)
{
	struct task_struct *prev = (void *)context[1], *next = (void *)context[2];
	__u64 now = bpf_ktime_get_ns();
	struct section_owner *owner = in_section(prev->pid);

	if (owner) {
		struct task_struct___former *former = (void *)prev;
		__u64 state = kernel_has(prev->__state) ? prev->__state : (__u64)former->state;

		owner->sleeps = state && !context[0];
		owner->left_ns = now;
		owner->switches++;
	}
	owner = in_section(next->pid);
	if (owner && owner->left_ns) {
		if (owner->sleeps)
			owner->parts.slept_ns += now - owner->left_ns;
		else
			owner->parts.preempted_ns += now - owner->left_ns;
		owner->left_ns = 0;
	}
	return 0;
}

/* ---------------------------------------------------------------- interrupts, softirqs */

/*
 * Of an interrupt within another the time is that of who was interrupted by the inner one, once:
 * executions may begin in either.
 */
SECTION("raw_tp/irq_handler_entry") int part_interrupt(__u64 *context)
{
	struct section_cpu *cpu = cpu_here();
	__u64 level;

	(void)context;
	if (!cpu)
		return 0;
	level = cpu->level;
	cpu->level = level + 1;
	barrier();
	cpu->levels[level % SECTION_LEVELS].inner_ns = 0;
	cpu->levels[level % SECTION_LEVELS].since_ns = bpf_ktime_get_ns();
	return 0;
}

SECTION("raw_tp/irq_handler_exit") int part_interrupt_end(__u64 *context)
{
	struct section_cpu *cpu = cpu_here();
	struct section_owner *owner;
	__u64 now, took_ns, inner_ns, level;

	(void)context;
	/* The first may be of one that began before the start. */
	if (!cpu || !cpu->level)
		return 0;
	level = cpu->level - 1;
	now = bpf_ktime_get_ns();
	took_ns = now - cpu->levels[level % SECTION_LEVELS].since_ns;
	inner_ns = cpu->levels[level % SECTION_LEVELS].inner_ns;
	owner = in_section(bpf_get_current_pid_tgid());
	if (owner && inner_ns < took_ns) {
		struct section_frame *newest = frame_at(owner, (owner->state & OWNER_DEPTH) - 1);

		owner->parts.interrupted_ns += took_ns - inner_ns;
		if (newest->level > level) {
			/* It is within this interrupt, which does not interrupt it: where both end
			 * at one tracepoint, this program runs first. */
			newest->parts.interrupted_ns += took_ns - inner_ns;
		} else {
			owner->interrupt_took_ns = took_ns - inner_ns;
			owner->interrupt_ns = now;
		}
	}
	if (level)
		cpu->levels[(level - 1) % SECTION_LEVELS].inner_ns += took_ns;
	barrier();
	cpu->level = level;
	return 0;
}

/* ---------------------------------------------------------------- locks */

/* The program, and what calls it, are no callers of the lock. */
#define OWN_FRAMES 2

/* is_level_of - whether this is the level of interrupts in which the newest execution runs */
ALWAYS_INLINE bool is_level_of(struct section_owner *owner)
{
	struct section_cpu *cpu = cpu_here();

	return cpu && frame_at(owner, (owner->state & OWNER_DEPTH) - 1)->level == cpu->level;
}

SECTION("raw_tp/contention_begin") int part_lock(__u64 *context)
{
	struct section_owner *owner = in_section(bpf_get_current_pid_tgid());

	/* A lock that is waited for in the waiting for another has its time there. */
	if (!owner || owner->lock_ns || !is_level_of(owner))
		return 0;
	owner->wait.lock = context[0];
	if (wanted.keeps_locks) {
		owner->wait.flags = (__u32)context[1];
#pragma clang loop unroll(full)
		for (__u32 i = 0; i < SECTION_CALLERS; i++)
			owner->wait.callers[i] = 0;
		/* Before the wait: at its end the lock is held. */
		bpf_get_stack(context, owner->wait.callers, sizeof(owner->wait.callers),
			      OWN_FRAMES);
	}
	owner->lock = owner->parts;
	owner->lock_ns = bpf_ktime_get_ns();
	return 0;
}

/* keep_lock - keep a wait for a lock that is over */
ALWAYS_INLINE void keep_lock(const struct section_owner *owner, __u64 waited_ns)
{
	struct section_cpu *cpu = cpu_here();
	struct section_lock *kept;
	__u64 number;

	if (!cpu)
		return;
	number = __sync_fetch_and_add(&cpu->locks_count, 1);
	kept = &cpu->locks[number % SECTION_LOCKS];
	kept->number = 0;
	barrier();
	kept->waited_ns = waited_ns;
	kept->lock = owner->wait.lock;
	kept->flags = owner->wait.flags;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < SECTION_CALLERS; i++)
		kept->callers[i] = owner->wait.callers[i];
	barrier();
	kept->number = number + 1;
}

SECTION("raw_tp/contention_end") int part_lock_end(__u64 *context)
{
	struct section_owner *owner = in_section(bpf_get_current_pid_tgid());
	__u64 interrupted_ns, waited_ns;

	/* The end of a lock that was waited for in the waiting for another ends nothing. */
	if (!owner || !owner->lock_ns || owner->wait.lock != context[0] || !is_level_of(owner))
		return 0;
	waited_ns = bpf_ktime_get_ns() - owner->lock_ns;
	interrupted_ns = owner->parts.interrupted_ns - owner->lock.interrupted_ns;
	owner->lock_ns = 0;
	/* It slept, or lost the CPU, for the lock. */
	owner->parts.slept_ns = owner->lock.slept_ns;
	owner->parts.preempted_ns = owner->lock.preempted_ns;
	waited_ns -= min(interrupted_ns, waited_ns);
	owner->parts.lock_ns += waited_ns;
	if (wanted.keeps_locks)
		keep_lock(owner, waited_ns);
	return 0;
}

/* ---------------------------------------------------------------- page faults */

SECTION("raw_tp/page_fault_kernel") int part_fault(__u64 *context)
{
	struct section_owner *owner = in_section(bpf_get_current_pid_tgid());

	(void)context;
	if (owner)
		owner->parts.faults++;
	return 0;
}

#endif
