// SPDX-License-Identifier: GPL-2.0
/*
 * A function at the tracepoint of the scheduler's switch that takes size_us, with the run queue's
 * lock held and interrupts off, when the CPU is given to the measured thread: as a tracer's or a
 * profiler's hook is.
 */
#include "fault_module_beside.h"

static void hook(void *unused, bool preempt, struct task_struct *prev, struct task_struct *next,
		 unsigned int prev_state) FAULT_NAMED("_f");

/* So long the bystander has the CPU: the measured thread takes it away meanwhile. */
#define AROUND_NS 600000

static struct tracepoint *tracepoint;
static int armed;

static void hook(void *unused, bool preempt, struct task_struct *prev, struct task_struct *next,
		 unsigned int prev_state)
{
	u64 start_ns;

	if (!READ_ONCE(armed) || !fault_is_measured(next) || smp_processor_id() != cpu)
		return;
	WRITE_ONCE(armed, 0);
	start_ns = ktime_get_ns();
	fault_log(start_ns, fault_spin(start_ns + fault_size_ns()), cpu);
}

static void act(void)
{
	fault_beside_until(ktime_get_ns() + AROUND_NS);
	WRITE_ONCE(armed, 1);
}

static int begin(void)
{
	int error;

	tracepoint = fault_tracepoint("sched_switch");
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
