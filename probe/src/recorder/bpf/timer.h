/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* hrtimers, and the one that the measured thread sleeps on. */
#ifndef WHYLATE_RECORDER_BPF_TIMER_H
#define WHYLATE_RECORDER_BPF_TIMER_H

#include "watch.h"

/*
 * wakes_measured - whether this timer is the sleep of this CPU's measured thread
 *
 * What follows the timer is read as a sleeper's task. In another kind of timer it is something
 * else, but never the address of the measured thread's task_struct.
 */
ALWAYS_INLINE bool wakes_measured(struct recorder_bpf_cpu *cpu, struct hrtimer *timer)
{
	struct hrtimer_sleeper *sleeper = (void *)timer;
	__u64 task = 0;

	if (!cpu->task)
		return 0;
	/* It lies on that thread's stack, where there are no other threads' timers. */
	if (cpu->timer == (__u64)timer)
		return 1;
	bpf_probe_read_kernel(&task, sizeof(task), &sleeper->task);
	if (task != cpu->task)
		return 0;
	cpu->timer = (__u64)timer;
	return 1;
}

/* A timer that is later than this was delayed. The instruction that it interrupted shows whether by
 * the kernel, at a fraction of the cost of a stack. */
#define LOOK_AFTER_NS 2000

/* late_by - how late a timer comes, ns */
ALWAYS_INLINE __s64 late_by(struct hrtimer *timer, __u64 now)
{
	return (__s64)now - (timer->_softexpires - timer->base->offset);
}

SECTION("tp_btf/hrtimer_expire_entry")
int timer_entry(__u64 *context)
{
	struct recorder_bpf_cpu *cpu = cpu_here();
	struct hrtimer *timer = (void *)context[0];
	__s64 stack_after_ns = config.stack_after_ns;
	__u64 now = bpf_ktime_get_ns();
	__s64 late_ns = late_by(timer, now);

	if (!cpu)
		return 0;
	record(cpu, now, EVENT_TIMER_ENTRY, 0, 0, 0, 0, (__u64)timer->function, (__u64)timer);
	timer_expires(cpu, timer);
	/* Which thread a timer will wake is not known yet: where a program is watched, any late
	 * timer counts. In an idle state nothing can have delayed it, but softirqs after an
	 * interrupt. */
	if ((cpu->in_idle_state && !cpu->in_softirq) ||
	    likely(!stack_after_ns || late_ns <= min(stack_after_ns, LOOK_AFTER_NS)) ||
	    !(is_watching() || wakes_measured(cpu, timer)))
		return 0;
	look_at_timer(context, cpu, timer, now, late_ns, late_ns > stack_after_ns);
	return 0;
}

SECTION("raw_tp/hrtimer_expire_exit")
int timer_exit(__u64 *context)
{
	struct recorder_bpf_cpu *cpu = cpu_here();

	if (!cpu)
		return 0;
	cpu->expired_ns = 0;
	record(cpu, bpf_ktime_get_ns(), EVENT_TIMER_EXIT, 0, 0, 0, 0, 0, context[0]);
	return 0;
}

/* Functions that are deferred to a softirq or a kernel thread; what defers them is named already.
 */
ALWAYS_INLINE void deferred_begins(const void *function, __u64 what)
{
	struct recorder_bpf_cpu *cpu = cpu_here();

	if (cpu)
		record(cpu, bpf_ktime_get_ns(), EVENT_DEFERRED_ENTRY, 0, 0, 0, 0, (__u64)function,
		       what);
}

SECTION("tp_btf/timer_expire_entry")
int timer_list_entry(__u64 *context)
{
	deferred_begins(((struct timer_list *)context[0])->function, context[0]);
	return 0;
}

SECTION("tp_btf/workqueue_execute_start")
int work_entry(__u64 *context)
{
	deferred_begins(((struct work_struct *)context[0])->func, context[0]);
	return 0;
}

SECTION("raw_tp/tasklet_entry")
int tasklet_entry(__u64 *context)
{
	deferred_begins((void *)context[1], context[0]);
	return 0;
}

/* One program for the ends of all of them: the first argument is what began. */
PROGRAM("raw_tp/timer_expire_exit", deferred_exit)
{
	record(cpu, now, EVENT_DEFERRED_EXIT, 0, 0, 0, 0, 0, context[0]);
}

#endif
