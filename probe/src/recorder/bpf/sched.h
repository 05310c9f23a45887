/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The scheduler: who runs, who is woken, and the stages of the measured thread. */
#ifndef WHYLATE_RECORDER_BPF_SCHED_H
#define WHYLATE_RECORDER_BPF_SCHED_H

#include "watch.h"

/* look_at_steal - record the time that the hypervisor has stolen since the last call */
ALWAYS_INLINE void look_at_steal(struct recorder_bpf_cpu *cpu, struct task_struct *next, __u64 now)
{
	__u64 steal_ns, before_ns = cpu->steal_ns;

	if (!kernel_has(((struct rq *)0)->prev_steal_time_rq) ||
	    !kernel_has(((struct sched_entity *)0)->cfs_rq) ||
	    !kernel_has(((struct cfs_rq *)0)->rq))
		return;
	steal_ns = next->se.cfs_rq->rq->prev_steal_time_rq;
	if (likely(steal_ns == before_ns))
		return;
	cpu->steal_ns = steal_ns;
	/* The first value counts from the start of the machine. */
	if (!cpu->since_ns)
		return;
	cpu->sums[SUM_STEAL] += steal_ns - before_ns;
	record(cpu, now, EVENT_STEAL, 0, 0, 0, 0, steal_ns - before_ns, 0);
}

ALWAYS_INLINE void copy_sums(__u64 *to, const struct recorder_bpf_cpu *cpu)
{
	for (int i = 0; i < RECORDER_SUMS; i++)
		to[i] = cpu->sums[i];
}

/* switched_to - add a stage: the measured thread begins to run. Returns since when it was
 * runnable; now where that is not known. */
ALWAYS_INLINE __u64 switched_to(struct recorder_bpf_cpu *cpu, struct task_struct *next, __u64 now)
{
	__u64 number = cpu->shared.stages;
	struct recorder_stage *stage = &cpu->shared.stage[number % STAGES];
	__u64 waking_ns = cpu->waking_ns;

	cpu->task = (__u64)next;
	stage->switched_ns = now;
	stage->waking_ns = waking_ns;
	stage->timer_ns = cpu->timer_ns;
	stage->waking_cpu = cpu->waking_cpu;
	copy_sums(stage->sums, cpu);
	barrier();
	cpu->shared.stages = number + 1;
	cpu->waking_ns = 0;
	cpu->timer_ns = 0;
	return waking_ns ? waking_ns : now;
}

/* switched_from - the measured thread stops to run */
ALWAYS_INLINE void switched_from(struct recorder_bpf_cpu *cpu, bool runnable, __u64 now)
{
	__u64 due_ns = cpu->shared.want.due_ns;

	cpu->shared.left_ns = now;
	copy_sums(cpu->shared.left_sums, cpu);
	if (unlikely(due_ns)) {
		cpu->shared.want.due_ns = 0;
		hold_window(cpu, due_ns, now);
		if (cpu->late_to_record)
			record_late(cpu);
	} else if (!runnable && !cpu->settled) {
		forget_culprit(cpu);
	}
	/* A runnable thread was woken before it could sleep: that waking does not belong to the
	 * next switch to it. A sleeping thread may already be woken by another CPU. */
	if (runnable) {
		cpu->waking_ns = 0;
		cpu->timer_ns = 0;
	}
}

/* look_at_prio - record the measured thread's priority where it was changed: another thread is
 * chosen while it is runnable, and the change itself leaves no event */
ALWAYS_INLINE void look_at_prio(struct recorder_bpf_cpu *cpu, __u32 measured, __u64 now)
{
	struct task_struct *task = (void *)cpu->task;
	int prio = 0;

	if (bpf_probe_read_kernel(&prio, sizeof(prio), &task->prio))
		return;
	if (cpu->prio && cpu->prio != 1 + (__u64)(__u32)prio)
		record(cpu, now, EVENT_PRIO, prio, 0, measured, 0, 0, 0);
}

/* take_stacks - take the stacks that are due at a switch, and that of what delayed the thread that
 * is switched to */
ALWAYS_INLINE void take_stacks(__u64 *context, struct recorder_bpf_cpu *cpu, __u64 now,
			       __u64 runnable_ns)
{
	struct task_struct *prev = (void *)context[1], *next = (void *)context[2];

	if (!config.stack_after_ns)
		return;
	if (unlikely(!cpu->settled))
		look_after_stacks(context, cpu, next, now);
	if (runnable_ns == now)
		return;
	/* A thread of a higher priority, and the idle one, are no culprits. */
	if (prev->pid && prev->prio > next->prio) {
		look_at_switch(context, cpu, prev, now, runnable_ns);
	} else if (!cpu->settled) {
		cpu->culprit.task = 0;
		cpu->late_deep = 0;
	}
}

SECTION("tp_btf/sched_switch")
int switch_threads(__u64 *context)
{
	struct recorder_bpf_cpu *cpu = cpu_here();
	struct task_struct *prev = (void *)context[1], *next = (void *)context[2];
	__u64 now = bpf_ktime_get_ns();
	__u32 prev_pid, next_pid, state = context[3];
	__u64 *comm = (void *)next->comm; /* 16 bytes */
	__u64 measured, runnable_ns = now;
	bool runnable;

	if (!cpu)
		return 0;
	runnable = context[0] || !state;
	prev_pid = prev->pid;
	next_pid = next->pid;
	measured = cpu->shared.measured;
	opaque(comm);
	account(cpu, now);
	look_at_steal(cpu, next, now);
	record(cpu, now, EVENT_SWITCH, runnable ? SWITCH_PREEMPTED : state & SWITCH_STATE,
	       (prev->prio & 0xff) | next->prio << 8, prev_pid, next_pid, comm[0], comm[1]);
	if (measured && prev_pid == measured)
		switched_from(cpu, runnable, now);
	/* No interrupt switches threads: one whose end we missed is over. */
	cpu->interrupts = 0;
	cpu->in_idle_state = 0;
	/* Nor is it known when a callback goes on that was preempted. */
	cpu->callback = 0;
	cpu->in_softirq = cpu->softirq_thread == 1 + (__u64)next_pid;
	cpu->thread = next_pid ? SUM_THREAD : SUM_IDLE;
	if (unlikely(!cpu->since_ns))
		cpu->since_ns = now;
	if (config.reads_kernel && measured && next_pid != measured && cpu->waking_ns && cpu->task)
		look_at_prio(cpu, measured, now);
	if (measured && next_pid == measured) {
		cpu->prio = 1 + (__u64)(__u32)next->prio;
		cpu->thread = SUM_OWN;
		runnable_ns = switched_to(cpu, next, now);
	}
	/* Preempted: it was woken before it could sleep, which does not belong to its next run. */
	if (is_watching() && runnable && is_watched(prev))
		bpf_map_delete_elem(&woken, &prev_pid);
	if (is_watching() && is_watched(next))
		runnable_ns = watched_runs(cpu, next, next_pid, now);
	take_stacks(context, cpu, now, runnable_ns);
	/* Last: the verifier follows all that comes behind a branch once for each of its ways. */
	if (is_watching() && !runnable && is_watched(prev))
		watched_waits(prev, prev_pid, state, now);
	return 0;
}

/* woken_from - 1 + why a thread that is being woken is off the CPU, as an event SWITCH has it;
 * 0: this kernel does not show it */
ALWAYS_INLINE __u32 woken_from(struct task_struct *task)
{
	struct task_struct___former *former = (void *)task;

	if (kernel_has(task->__state))
		return 1 + (task->__state & SWITCH_STATE);
	return kernel_has(former->state) ? 1 + (former->state & SWITCH_STATE) : 0;
}

SECTION("tp_btf/sched_waking")
int waking(__u64 *context)
{
	__u32 here = bpf_get_smp_processor_id();
	struct recorder_bpf_cpu *cpu = cpu_at(here), *home;
	struct task_struct *task = (void *)context[0];
	__u64 now = bpf_ktime_get_ns();
	__u32 pid, to;

	if (!cpu)
		return 0;
	pid = task->pid;
	to = task->thread_info.cpu;
	record(cpu, now, EVENT_WAKING, task->prio, to, pid, woken_from(task), 0, 0);
	if (is_watching()) {
		if (is_watched(task))
			watched_woken(cpu, pid, now);
		return 0;
	}
	/* A measured thread is bound to its CPU, wherever it is woken from. */
	home = here == to ? cpu : cpu_at(to);
	if (home && home->shared.measured == pid) {
		home->timer_ns = cpu->interrupts ? cpu->interrupt_ns : 0;
		home->waking_cpu = here;
		home->waking_ns = now;
	}
	return 0;
}

/* A thread inherits the priority of one that waits for its lock, or loses it again. */
SECTION("tp_btf/sched_pi_setprio")
int inherit(__u64 *context)
{
	struct recorder_bpf_cpu *cpu = cpu_here();
	struct task_struct *task = (void *)context[0], *from = (void *)context[1];
	int prio;

	if (!cpu)
		return 0;
	prio = task->normal_prio;
	if (from && from->prio < prio)
		prio = from->prio;
	record(cpu, bpf_ktime_get_ns(), EVENT_PRIO, prio, 0, task->pid, 0, 0, 0);
	return 0;
}

SECTION("tp_btf/sched_migrate_task")
int migrate(__u64 *context)
{
	struct recorder_bpf_cpu *cpu = cpu_here();
	struct task_struct *task = (void *)context[0];

	if (cpu)
		record(cpu, bpf_ktime_get_ns(), EVENT_MIGRATE, 0, context[1], task->pid, 0, 0, 0);
	return 0;
}

#endif
