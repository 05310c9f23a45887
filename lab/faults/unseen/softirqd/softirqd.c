// SPDX-License-Identifier: GPL-2.0
/*
 * The thread of softirqs has a real-time priority above what is measured, and gets a tasklet that
 * takes size_us. Another tasklet before it is over in a moment.
 */
#include <linux/interrupt.h>
#include <uapi/linux/sched/types.h>

#include "fault_module_beside.h"

static void slow(struct tasklet_struct *unused) FAULT_NAMED("_f");
static void quick(struct tasklet_struct *unused) FAULT_NAMED("_b");

#define QUICK_NS 2000

static DECLARE_TASKLET(slow_tasklet, slow);
static DECLARE_TASKLET(quick_tasklet, quick);
static struct task_struct *softirqd;

static void slow(struct tasklet_struct *unused)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns, fault_busy(start_ns + fault_size_ns(), cpu), cpu);
}

static void quick(struct tasklet_struct *unused)
{
	fault_spin(ktime_get_ns() + QUICK_NS);
}

static void act(void)
{
	unsigned long flags;

	fault_beside();
	local_irq_save(flags);
	tasklet_schedule(&quick_tasklet);
	tasklet_schedule(&slow_tasklet);
	local_irq_restore(flags);
}

static int begin(void)
{
	struct sched_attr attr = {.sched_policy = SCHED_FIFO, .sched_priority = measured + 2};
	struct task_struct *task;
	char name[TASK_COMM_LEN];
	int error;

	if (attr.sched_priority > 99)
		return -EINVAL;
	snprintf(name, sizeof(name), "ksoftirqd/%u", cpu);
	rcu_read_lock();
	for_each_process(task) if (!task->mm && !strcmp(task->comm, name)) softirqd = task;
	if (softirqd)
		get_task_struct(softirqd);
	rcu_read_unlock();
	if (!softirqd)
		return -ESRCH;
	error = fault_beside_start();
	if (!error) {
		error = sched_setattr_nocheck(softirqd, &attr);
		if (error)
			fault_beside_stop();
	}
	if (error)
		put_task_struct(softirqd);
	return error;
}

static void end(void)
{
	sched_set_normal(softirqd, 0);
	put_task_struct(softirqd);
	tasklet_kill(&slow_tasklet);
	tasklet_kill(&quick_tasklet);
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
