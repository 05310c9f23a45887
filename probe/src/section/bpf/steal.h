/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a hypervisor takes from the thread in the section.
 *
 * Steal is of a CPU: KVM counts for each how long it was runnable on the host, and had no CPU
 * there. It is the thread's own from when it is switched to until it is switched from, so it is
 * looked at then, and at all marks between which it would else be in another part.
 */
#ifndef WHYLATE_SECTION_BPF_STEAL_H
#define WHYLATE_SECTION_BPF_STEAL_H

#include "owner.h"

/* steal_found - remember where that of this CPU is; task: that is on its run queue */
ALWAYS_INLINE void steal_found(struct task_struct *task)
{
	struct section_cpu *cpu = wanted.has_steal ? cpu_here() : 0;

	if (!cpu || cpu->steal_address || !kernel_has(task->se) || !kernel_has(task->se.cfs_rq) ||
	    !kernel_has(task->se.cfs_rq->rq))
		return;
	/* Variables of a CPU are as far from each other as they are in the kernel's file. */
	cpu->steal_address = (__u64)task->se.cfs_rq->rq + wanted.steal_from_queue;
}

/* steal_here - what has been taken from this CPU; 0 where that is not known, and no instruction
 * where nobody counts it */
ALWAYS_INLINE __u64 steal_here(void)
{
	struct section_cpu *cpu = wanted.has_steal ? cpu_here() : 0;
	__u64 steal_ns = 0;

	if (cpu && cpu->steal_address)
		bpf_probe_read_kernel(&steal_ns, sizeof(steal_ns), (void *)cpu->steal_address);
	return steal_ns;
}

/* steal_since - what has been taken from this CPU since it was before_ns */
ALWAYS_INLINE __u64 steal_since(__u64 before_ns)
{
	__u64 now_ns = steal_here();

	return before_ns && now_ns > before_ns ? now_ns - before_ns : 0;
}

/* changed - add to a part of the owner that its code did not run, until now, for so long */
ALWAYS_INLINE void changed(struct section_owner *owner, __u64 now, __u64 took_ns,
			   enum section_change part)
{
	/* A softirq's program can be interrupted, by one that does the same. */
	__u64 number = __sync_fetch_and_add(&owner->recent_count, 1);
	struct section_changed *change = &owner->recent[number & (SECTION_CHANGES - 1)];

	change->until_ns = now;
	change->took_ns = took_ns;
	change->part = part;
	owner->changed_ns = now;
}

/*
 * take_steal - add what was taken from the running thread since that was last looked at
 *
 * The thread may lose the CPU meanwhile: what was read of it then is of another time, and the
 * switch has looked itself.
 */
ALWAYS_INLINE void take_steal(struct section_owner *owner)
{
	__u64 before_ns, now_ns;

	if (!wanted.has_steal)
		return;
	before_ns = *(volatile __u64 *)&owner->steal_at_ns;
	now_ns = steal_here();
	if (now_ns == before_ns ||
	    __sync_val_compare_and_swap(&owner->steal_at_ns, before_ns, now_ns) != before_ns ||
	    !before_ns || now_ns < before_ns)
		return;
	count(&owner->parts.steal_ns, now_ns - before_ns);
	changed(owner, bpf_ktime_get_ns(), now_ns - before_ns, CHANGE_STOLEN);
}

#endif
