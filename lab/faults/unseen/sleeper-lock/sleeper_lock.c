// SPDX-License-Identifier: GPL-2.0
/*
 * The lock of the measured thread that everybody takes who wakes it or changes its priority
 * (pi_lock) is held for size_us on another CPU: the timer interrupt waits for it before it wakes.
 */
#include <linux/sched/task.h>

#include "fault_module_beside.h"

static uint holder_cpu = 1;
module_param(holder_cpu, uint, 0444);

static void hold(struct task_struct *task) FAULT_NAMED("_f");

static noinline void hold(struct task_struct *task)
{
	unsigned long flags;
	u64 start_ns, end_ns;

	raw_spin_lock_irqsave(&task->pi_lock, flags);
	start_ns = ktime_get_ns();
	end_ns = fault_spin(start_ns + fault_size_ns());
	raw_spin_unlock_irqrestore(&task->pi_lock, flags);
	fault_log(start_ns, end_ns, cpu);
}

static void act(void)
{
	struct task_struct *task;

	fault_beside();
	task = fault_measured();
	if (!task)
		return;
	hold(task);
	put_task_struct(task);
}

static int begin(void)
{
	if (holder_cpu != cpu)
		return fault_beside_start();
	pr_err(KBUILD_MODNAME ": the lock is held on another CPU: it takes two\n");
	return -EINVAL;
}

FAULT_THREAD_ON(holder_cpu, act, begin, fault_beside_stop);
