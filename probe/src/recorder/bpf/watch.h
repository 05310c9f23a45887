/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The wakings of a watched program's threads: what made them due, and when they ran. */
#ifndef WHYLATE_RECORDER_BPF_WATCH_H
#define WHYLATE_RECORDER_BPF_WATCH_H

#include "waits.h"

#include "../origin.h"

ALWAYS_INLINE bool is_watched(struct task_struct *task)
{
	__u64 *comm = (void *)task->comm; /* 16 bytes, zeros behind the name */

	if (config.watch_pid)
		return (__u32)task->tgid == config.watch_pid;
	opaque(comm);
	return config.watch_comm[0] && comm[0] == config.watch_comm[0] &&
	       comm[1] == config.watch_comm[1];
}

/* timer_expires - note when the timer was due whose function begins to run; one interrupt may run
 * several, and by its own clock reading only the first of them was due so long ago */
ALWAYS_INLINE void timer_expires(struct recorder_bpf_cpu *cpu, struct hrtimer *timer)
{
	if (!is_watching())
		return;
	cpu->expired_ns = timer->_softexpires - timer->base->offset;
	cpu->expired_in = cpu->interrupts;
}

/* softirq_raised, softirq_begins - note since when a softirq waits */
ALWAYS_INLINE void softirq_raised(struct recorder_bpf_cpu *cpu, __u64 vector, __u64 now)
{
	__u64 *raised_ns = &cpu->raised_ns[vector % SOFTIRQ_ROOM];

	if (is_watching() && !*raised_ns)
		*raised_ns = now;
}

ALWAYS_INLINE void softirq_begins(struct recorder_bpf_cpu *cpu, __u64 vector, __u64 now)
{
	__u64 *raised_ns = &cpu->raised_ns[vector % SOFTIRQ_ROOM];

	if (!is_watching())
		return;
	cpu->softirq_ns = *raised_ns ? *raised_ns : now;
	*raised_ns = 0;
}

/* watched_woken - note what woke a watched thread on this CPU, and since when it was due */
ALWAYS_INLINE void watched_woken(struct recorder_bpf_cpu *cpu, __u32 pid, __u64 now)
{
	struct recorder_waker at = {
	    .expired_ns = cpu->expired_ns,
	    .expired_in = cpu->expired_in,
	    .interrupts = cpu->interrupts,
	    .interrupt_ns = cpu->interrupt_ns,
	    .softirq_ns = cpu->in_softirq ? cpu->softirq_ns : 0,
	};
	struct recorder_due due = recorder_origin(at, now);
	struct recorder_woken entry = {
	    .waking_ns = now,
	    .due_ns = due.due_ns,
	    .timer_ns = due.timer_ns,
	    .cpu = bpf_get_smp_processor_id(),
	    .origin = due.origin,
	    .waker = due.origin == ORIGIN_THREAD ? (__u32)bpf_get_current_pid_tgid() : 0,
	};

	bpf_map_update_elem(&woken, &pid, &entry, 0);
}

/* watched_runs - add a stage: a watched thread is switched to, where it had been woken. Returns
 * since when it was runnable; now where that is not known. */
ALWAYS_INLINE __u64 watched_runs(struct recorder_bpf_cpu *cpu, struct task_struct *next, __u32 pid,
				 __u64 now)
{
	struct recorder_woken *entry = bpf_map_lookup_elem(&woken, &pid);
	__u64 number = cpu->shared.stages, latency_ns, due_ns, waking_ns;
	struct recorder_stage *stage = &cpu->shared.stage[number % STAGES];

	/* It was preempted and goes on. */
	if (!entry)
		return now;
	due_ns = entry->due_ns;
	put_wait(stage, pid, due_ns);
	stage->waker = entry->waker;
	waking_ns = entry->waking_ns;
	stage->switched_ns = now;
	stage->waking_ns = waking_ns;
	stage->timer_ns = entry->timer_ns;
	stage->waking_cpu = entry->cpu;
	stage->due_ns = due_ns;
	stage->pid = pid;
	stage->prio = next->prio;
	stage->origin = entry->origin;
	bpf_map_delete_elem(&woken, &pid);
	barrier();
	cpu->shared.stages = number + 1;
	latency_ns = now - due_ns;
	if (latency_ns > cpu->shared.want.above_ns ||
	    recorder_is_drawn(bpf_get_smp_processor_id(), number, cpu->shared.want.control_every))
		hold_window(cpu, due_ns, now);
	return waking_ns;
}

#endif
