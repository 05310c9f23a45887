// SPDX-License-Identifier: GPL-2.0
/*
 * The measured thread is given work for its way back to user space (task_work), as the kernel does
 * with files that are to be closed, and that work takes a mutex. Another thread has the mutex for
 * size_us, in which it sleeps: the CPU is free for others.
 */
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/task_work.h>

#include "fault_module_beside.h"

static void work(struct callback_head *unused) FAULT_NAMED("_f");
static void hold(struct task_struct *task) FAULT_NAMED("_h");

static int (*add)(struct task_struct *task, struct callback_head *work,
		  enum task_work_notify_mode mode);
static struct mutex mutex FAULT_NAMED("_m") = __MUTEX_INITIALIZER(mutex);
static struct callback_head head;
static bool pending; /* the work is given and not done */

static noinline void work(struct callback_head *unused)
{
	mutex_lock(&mutex);
	mutex_unlock(&mutex);
	smp_store_release(&pending, false);
}

static noinline void hold(struct task_struct *task)
{
	u64 start_ns;
	ktime_t at;

	mutex_lock(&mutex);
	start_ns = ktime_get_ns();
	WRITE_ONCE(pending, true);
	if (add(task, &head, TWA_RESUME) == 0) {
		at = ns_to_ktime(start_ns + fault_size_ns());
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
		fault_log(start_ns, ktime_get_ns(), cpu);
	} else
		WRITE_ONCE(pending, false);
	mutex_unlock(&mutex);
}

static void act(void)
{
	struct task_struct *task = fault_measured();

	if (!task)
		return;
	fault_beside();
	if (!smp_load_acquire(&pending))
		hold(task);
	put_task_struct(task);
}

static int begin(void)
{
	add = fault_address("task_work_add");
	if (!add)
		return -ENOENT;
	init_task_work(&head, work);
	return fault_beside_start();
}

static void end(void)
{
	/* It is done when the measured thread next wakes, or when that ends. */
	while (smp_load_acquire(&pending))
		schedule_timeout_uninterruptible(1);
	synchronize_rcu_tasks();
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
