// SPDX-License-Identifier: GPL-2.0
/*
 * The mark that tells a running thread to make room is lost when the measured thread is woken: a
 * thread of a lower priority runs on for size_us, with interrupts and preemption on, until the
 * mark is set again.
 */
#include "fault_module_beside.h"

static void hook(void *unused, struct task_struct *woken) FAULT_NAMED("_f");

/* So long it waits for the measured thread to be woken. */
#define AROUND_NS 600000

static struct tracepoint *tracepoint;
static u64 lost_ns;
static int armed;

/* hook - with the run queue's lock held, and after the mark was set */
static void hook(void *unused, struct task_struct *woken)
{
	if (!READ_ONCE(armed) || current != fault_task || !fault_is_measured(woken))
		return;
	WRITE_ONCE(armed, 0);
	WRITE_ONCE(lost_ns, ktime_get_ns());
	clear_tsk_need_resched(current);
	clear_preempt_need_resched();
}

static void act(void)
{
	u64 start_ns, end_ns;

	fault_beside();
	WRITE_ONCE(lost_ns, 0);
	WRITE_ONCE(armed, 1);
	end_ns = ktime_get_ns() + AROUND_NS;
	while (READ_ONCE(armed) && ktime_get_ns() < end_ns)
		cond_resched();
	WRITE_ONCE(armed, 0);
	start_ns = READ_ONCE(lost_ns);
	if (!start_ns)
		return;
	end_ns = fault_spin(start_ns + fault_size_ns());
	fault_log(start_ns, end_ns, cpu);
	preempt_disable();
	set_tsk_need_resched(current);
	set_preempt_need_resched();
	preempt_enable();
	cond_resched();
}

static int begin(void)
{
	int error;

	tracepoint = fault_tracepoint("sched_wakeup");
	if (!tracepoint)
		return -ENOENT;
	error = fault_beside_start();
	if (error)
		return error;
	error = tracepoint_probe_register(tracepoint, hook, NULL);
	if (error)
		fault_beside_stop();
	return error;
}

static void end(void)
{
	tracepoint_probe_unregister(tracepoint, hook, NULL);
	tracepoint_synchronize_unregister();
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
