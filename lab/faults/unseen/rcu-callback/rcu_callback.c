// SPDX-License-Identifier: GPL-2.0
/*
 * A callback of RCU that takes size_us, when the grace period it waited for is over. Another one
 * beside it is over in a moment.
 */
#include <linux/rcupdate.h>

#include "fault_module_beside.h"

#define QUICK_NS 2000
/* A grace period takes a few ticks. */
#define GRACE_NS (6 * TICK_NSEC)

static void slow(struct rcu_head *unused) FAULT_NAMED("_f");
static void quick(struct rcu_head *unused) FAULT_NAMED("_b");

static struct rcu_head slow_head, quick_head;
static int pending;

static void slow(struct rcu_head *unused)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns, fault_busy(start_ns + fault_size_ns(), smp_processor_id()),
		  smp_processor_id());
	smp_store_release(&pending, 0);
}

static void quick(struct rcu_head *unused)
{
	fault_spin(ktime_get_ns() + QUICK_NS);
}

static void act(void)
{
	if (smp_load_acquire(&pending))
		return;
	pending = 1;
	fault_beside_until(ktime_get_ns() + GRACE_NS);
	call_rcu(&quick_head, quick);
	call_rcu(&slow_head, slow);
}

static void end(void)
{
	rcu_barrier();
	fault_beside_stop();
}

FAULT_THREAD(act, fault_beside_start, end);
