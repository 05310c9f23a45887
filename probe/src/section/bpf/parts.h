/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a thread does while it is in the section beside running its code: it is interrupted,
 * preempted, sleeps, waits for a lock, faults, or a hypervisor has its CPU. Each ns is in one part.
 */
#ifndef WHYLATE_SECTION_BPF_PARTS_H
#define WHYLATE_SECTION_BPF_PARTS_H

#include "counts.h"
#include "mark.h"
#include "owner.h"
#include "steal.h"
#include "thread.h"

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
	struct section_owner *owner = in_section(prev->pid);
	__u64 now;

	steal_found(next);
	/* Before the clock is read: what is taken later is of the time without the CPU. */
	if (owner)
		take_steal(owner);
	now = bpf_ktime_get_ns();
	if (owner) {
		struct task_struct___former *former = (void *)prev;
		__u64 state = kernel_has(prev->__state) ? prev->__state : (__u64)former->state;

		owner->sleeps = state && !context[0];
		leave_counts(owner);
		owner->left_ns = now;
		if (unlikely(owner->sleeps && state & TASK_DEAD) && !wanted.at_switch)
			leave_dead((void *)prev);
	}
	owner = in_section(next->pid);
	if (owner && owner->left_ns) {
		/* Clocks of two CPUs may differ. */
		__u64 took_ns = now - min(owner->left_ns, now);

		if (owner->sleeps)
			owner->parts.slept_ns += took_ns;
		else
			owner->parts.preempted_ns += took_ns;
		owner->left_ns = 0;
		owner->steal_at_ns = steal_here();
		return_counts(owner);
		changed(owner, now, took_ns, owner->sleeps ? CHANGE_SLEPT : CHANGE_PREEMPTED);
		count(&owner->changes, 1);
	}
	return 0;
}

/* ---------------------------------------------------------------- interrupts, softirqs */

/*
 * Of an interrupt within another the time is that of who was interrupted by the inner one, once:
 * executions may begin in either. What a hypervisor takes meanwhile is of neither: the time of
 * interrupts, which stay on their CPU, is that without it.
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
	/* What reading counters takes is not the interrupt's. */
	if (wanted.counter_count) {
		__builtin_memset(&cpu->levels[level % SECTION_LEVELS].inner, 0,
				 sizeof(struct section_counts));
		read_counts(&cpu->levels[level % SECTION_LEVELS].since);
	}
	cpu->levels[level % SECTION_LEVELS].inner_ns = 0;
	cpu->levels[level % SECTION_LEVELS].lock_ns = 0;
	/* Before the clock is read, and at the end after it: no steal is of the interrupt too. */
	cpu->levels[level % SECTION_LEVELS].steal_at_ns = steal_here();
	cpu->levels[level % SECTION_LEVELS].since_ns = bpf_ktime_get_ns();
	return 0;
}

/* counted_at - what was counted in a level that ends, without inner ones; which is added to the
 * inner ones of the next */
ALWAYS_INLINE void counted_at(struct section_cpu *cpu, __u64 level, struct section_counts *counts)
{
	read_counts(counts);
	take_counts(counts, &cpu->levels[level % SECTION_LEVELS].since);
	if (level)
		add_counts(&cpu->levels[(level - 1) % SECTION_LEVELS].inner, counts);
	take_counts(counts, &cpu->levels[level % SECTION_LEVELS].inner);
}

SECTION("raw_tp/irq_handler_exit") int part_interrupt_end(__u64 *context)
{
	struct section_cpu *cpu = cpu_here();
	struct section_counts counts;
	struct section_owner *owner;
	__u64 now, took_ns, inner_ns, steal_ns, level;

	(void)context;
	/* The first may be of one that began before the start. */
	if (!cpu || !cpu->level)
		return 0;
	level = cpu->level - 1;
	now = bpf_ktime_get_ns();
	escape(&counts);
	if (wanted.counter_count)
		counted_at(cpu, level, &counts);
	took_ns = now - cpu->levels[level % SECTION_LEVELS].since_ns;
	steal_ns = steal_since(cpu->levels[level % SECTION_LEVELS].steal_at_ns);
	took_ns -= min(steal_ns, took_ns);
	inner_ns = cpu->levels[level % SECTION_LEVELS].inner_ns;
	owner = in_section(bpf_get_current_pid_tgid());
	if (owner && inner_ns < took_ns) {
		struct section_frame *newest = frame_at(owner, (owner->state & OWNER_DEPTH) - 1);

		count(&owner->parts.interrupted_ns, took_ns - inner_ns);
		if (wanted.counter_count)
			add_counts(&owner->aside, &counts);
		if (newest->level > level) {
			/* It is within this interrupt, which does not interrupt it: where both end
			 * at one tracepoint, this program runs first. */
			newest->began.parts.interrupted_ns += took_ns - inner_ns;
			if (wanted.counter_count)
				take_counts(&newest->began.counts, &counts);
		} else {
			/* Executions within it waited for locks: for those that it interrupts that
			 * is time of the interrupt. */
			owner->parts.lock_ns -= cpu->levels[level % SECTION_LEVELS].lock_ns;
			changed(owner, now, took_ns - inner_ns, CHANGE_INTERRUPTED);
			count(&owner->changes, 1);
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
	take_steal(owner);
	owner->lock_ns = take_parts(owner, &owner->lock, 0);
	return 0;
}

/* count_wait - count a wait for a lock that is over */
ALWAYS_INLINE void count_wait(struct section_owner *owner, __u64 waited_ns)
{
	struct section_cpu *cpu = cpu_here();

	owner->parts.lock_ns += waited_ns;
	if (cpu && cpu->level)
		cpu->levels[(cpu->level - 1) % SECTION_LEVELS].lock_ns += waited_ns;
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
	__u64 now, others_ns, waited_ns;
	struct section_parts parts;

	/* The end of a lock that was waited for in the waiting for another ends nothing. */
	if (!owner || !owner->lock_ns || owner->wait.lock != context[0] || !is_level_of(owner))
		return 0;
	take_steal(owner);
	now = take_parts(owner, &parts, 0);
	waited_ns = now - owner->lock_ns;
	others_ns = parts.interrupted_ns - owner->lock.interrupted_ns + parts.steal_ns -
		    owner->lock.steal_ns;
	owner->lock_ns = 0;
	/* It slept, or lost the CPU, for the lock. */
	owner->parts.slept_ns = owner->lock.slept_ns;
	owner->parts.preempted_ns = owner->lock.preempted_ns;
	waited_ns -= min(others_ns, waited_ns);
	count_wait(owner, waited_ns);
	owner->waited_ns = owner->changed_ns = now;
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

/*
 * begin_fault - a page fault is handled from now on; place, number: where on the stack
 *
 * A handler's return may be missed: the next fault, which is not within it, takes its place. One
 * within the waiting for a lock, of which the end was missed, has its time there.
 */
ALWAYS_INLINE void begin_fault(void *place, __u64 number)
{
	struct section_owner *owner = in_section(bpf_get_current_pid_tgid());
	struct section_cpu *cpu = cpu_here();
	__u64 here;

	if (!owner || !cpu || owner->lock_ns)
		return;
	here = place_of(&owner->fault_now, place, number);
	if (owner->fault_ns && here < owner->fault_place)
		return;
	if (cpu->counts_handled)
		owner->parts.faults++;
	take_steal(owner);
	owner->fault_place = here;
	owner->fault_ns = take_parts(owner, &owner->fault, 0);
}

/*
 * end_fault - a page fault has been handled; now: since when
 *
 * Asleep in it, as for a disk, is of the fault. Interrupts, the other threads that had the CPU, and
 * waits for locks within it remain what they are.
 */
ALWAYS_INLINE void end_fault(void *place, __u64 number, __u64 now)
{
	struct section_owner *owner = in_section(bpf_get_current_pid_tgid());
	__u64 took_ns, others_ns;
	struct section_parts parts;

	if (!owner || !owner->fault_ns ||
	    place_of(&owner->fault_now, place, number) != owner->fault_place)
		return;
	take_steal(owner);
	take_parts(owner, &parts, now);
	took_ns = now - owner->fault_ns;
	others_ns = parts.interrupted_ns - owner->fault.interrupted_ns + parts.preempted_ns -
		    owner->fault.preempted_ns + parts.lock_ns - owner->fault.lock_ns +
		    parts.steal_ns - owner->fault.steal_ns;
	owner->fault_ns = 0;
	/* No wait for a lock goes on beyond it. */
	owner->lock_ns = 0;
	owner->parts.slept_ns = owner->fault.slept_ns;
	owner->parts.fault_ns += took_ns - min(others_ns, took_ns);
}

SECTION("fentry/fault") int part_fault_entry(__u64 *context)
{
	begin_fault(context, 0);
	return 0;
}

SECTION("fexit/fault") int part_fault_exit(__u64 *context)
{
	end_fault(context, 0, bpf_ktime_get_ns());
	return 0;
}

SECTION("kprobe/fault") int part_fault_probe(struct pt_regs *regs)
{
	begin_fault(0, regs->sp);
	return 0;
}

SECTION("kprobe/fault_return") int part_fault_return(struct pt_regs *regs)
{
	end_fault(0, regs->sp - wanted.fault_pops, bpf_ktime_get_ns());
	return 0;
}

#endif
