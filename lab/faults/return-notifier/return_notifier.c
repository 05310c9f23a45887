// SPDX-License-Identifier: GPL-2.0
/*
 * A function that runs when the CPU next returns to user space (a user return notifier, with which
 * KVM puts registers back), with interrupts off, and takes size_us before the measured thread's
 * first instruction.
 */
#include <linux/smp.h>
#include <linux/user-return-notifier.h>

#include "fault_module_beside.h"

static void slow(struct user_return_notifier *unused) FAULT_NAMED("_f");

/* So long the bystander has the CPU: the measured thread takes it away meanwhile. */
#define AROUND_NS 600000

static struct user_return_notifier notifier = {.on_user_return = slow};
static int registered;

static void slow(struct user_return_notifier *unused)
{
	u64 start_ns;

	if (!fault_is_measured(current))
		return;
	start_ns = ktime_get_ns();
	fault_log(start_ns, fault_spin(start_ns + fault_size_ns()), smp_processor_id());
	user_return_notifier_unregister(&notifier);
	WRITE_ONCE(registered, 0);
}

static void act(void)
{
	if (READ_ONCE(registered))
		return;
	fault_beside_until(ktime_get_ns() + AROUND_NS);
	preempt_disable();
	WRITE_ONCE(registered, 1);
	user_return_notifier_register(&notifier);
	preempt_enable();
}

static void unregister(void *unused)
{
	if (registered)
		user_return_notifier_unregister(&notifier);
	registered = 0;
}

static void end(void)
{
	smp_call_function_single(cpu, unregister, NULL, 1);
	fault_beside_stop();
}

FAULT_THREAD(act, fault_beside_start, end);
