// SPDX-License-Identifier: GPL-2.0
/*
 * A thread calls a function on another CPU and waits for it with preemption off, as who changes a
 * mapping waits for the other CPUs. That one has interrupts off for size_us, and answers then.
 */
#include <linux/smp.h>

#include "fault_module_beside.h"

static uint other_cpu = 1;
module_param(other_cpu, uint, 0444);

static void deaf(void) FAULT_NAMED("_f");
static void quick(void *unused) FAULT_NAMED("_q");

/* When the other CPU has interrupts off, and until when; 0: it has not yet. */
static u64 off_ns;
static struct task_struct *other;

/* deaf - nobody interrupts the CPU */
static noinline void deaf(void)
{
	unsigned long flags;
	u64 start_ns;

	local_irq_save(flags);
	start_ns = ktime_get_ns();
	WRITE_ONCE(off_ns, start_ns);
	fault_spin(start_ns + fault_size_ns());
	local_irq_restore(flags);
}

static void quick(void *unused)
{
}

static int other_run(void *unused)
{
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		if (READ_ONCE(off_ns)) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		deaf();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static void act(void)
{
	u64 start_ns;

	fault_beside();
	WRITE_ONCE(off_ns, 0);
	wake_up_process(other);
	while (!READ_ONCE(off_ns))
		cond_resched();
	start_ns = ktime_get_ns();
	smp_call_function_single(other_cpu, quick, NULL, 1);
	fault_log(start_ns, ktime_get_ns(), cpu);
}

static int begin(void)
{
	int error;

	if (other_cpu == cpu || other_cpu >= nr_cpu_ids || !cpu_online(other_cpu)) {
		pr_err(KBUILD_MODNAME ": it takes another CPU\n");
		return -EINVAL;
	}
	WRITE_ONCE(off_ns, 1);
	other = kthread_create(other_run, NULL, KBUILD_MODNAME "_e");
	if (IS_ERR(other))
		return PTR_ERR(other);
	kthread_bind(other, other_cpu);
	sched_set_fifo_low(other);
	wake_up_process(other);
	error = fault_beside_start();
	if (error)
		kthread_stop(other);
	return error;
}

static void end(void)
{
	fault_beside_stop();
	kthread_stop(other);
}

FAULT_THREAD(act, begin, end);
