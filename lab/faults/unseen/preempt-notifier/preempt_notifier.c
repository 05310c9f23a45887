// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that needs size_us to be switched away from, as one with a virtual machine does: the
 * function that it has for that (a preempt notifier) runs in the switch, behind the tracepoint and
 * with interrupts off. The thread itself lets everybody come.
 */
#include <linux/preempt.h>

#include "fault_module_beside.h"

static void out(struct preempt_notifier *unused, struct task_struct *next) FAULT_NAMED("_f");

/* So long it waits for the measured thread to come. */
#define AROUND_NS 600000

static struct preempt_notifier notifier;
static int armed;

static void in(struct preempt_notifier *unused, int on_cpu)
{
}

static void out(struct preempt_notifier *unused, struct task_struct *next)
{
	u64 start_ns;

	if (!armed || !fault_is_measured(next))
		return;
	armed = 0;
	start_ns = ktime_get_ns();
	fault_log(start_ns, fault_spin(start_ns + fault_size_ns()), smp_processor_id());
}

static struct preempt_ops ops = {.sched_in = in, .sched_out = out};

static void act(void)
{
	u64 end_ns;

	fault_beside();
	preempt_notifier_init(&notifier, &ops);
	preempt_notifier_register(&notifier);
	armed = 1;
	end_ns = ktime_get_ns() + AROUND_NS;
	while (READ_ONCE(armed) && ktime_get_ns() < end_ns)
		cond_resched();
	armed = 0;
	preempt_notifier_unregister(&notifier);
}

static int begin(void)
{
	int error = fault_beside_start();

	if (!error)
		preempt_notifier_inc();
	return error;
}

static void end(void)
{
	preempt_notifier_dec();
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
