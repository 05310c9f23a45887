// SPDX-License-Identifier: GPL-2.0
/* A work item that keeps softirqs off for size_us, and with them preemption. */
#include <linux/interrupt.h>
#include <linux/workqueue.h>

#include "fault_module_beside.h"

static void slow(struct work_struct *unused) FAULT_NAMED("_f");

static DECLARE_WORK(item, slow);

static void slow(struct work_struct *unused)
{
	u64 start_ns, end_ns;

	local_bh_disable();
	start_ns = ktime_get_ns();
	end_ns = fault_busy(start_ns + fault_size_ns(), cpu);
	local_bh_enable();
	fault_log(start_ns, end_ns, cpu);
}

static void act(void)
{
	fault_beside();
	queue_work_on(cpu, system_highpri_wq, &item);
}

static void end(void)
{
	cancel_work_sync(&item);
	fault_beside_stop();
}

FAULT_THREAD(act, fault_beside_start, end);
