// SPDX-License-Identifier: GPL-2.0
/* Of a batch of RCU callbacks one takes size_us. */
#include <linux/rcupdate.h>

#include "fault_module_beside.h"

#define BATCH	 20
#define SLOW	 (BATCH / 2)
#define QUICK_NS 1000
/* A grace period takes a few ticks. */
#define GRACE_NS (6 * TICK_NSEC)

static void slow(struct rcu_head *unused) FAULT_NAMED("_f");
static void quick(struct rcu_head *unused) FAULT_NAMED("_b");

static struct rcu_head heads[BATCH];
static atomic_t pending;

static void slow(struct rcu_head *unused)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns,
		  fault_busy_since(start_ns, start_ns + fault_size_ns(), smp_processor_id()),
		  smp_processor_id());
	atomic_dec(&pending);
}

static void quick(struct rcu_head *unused)
{
	fault_spin(ktime_get_ns() + QUICK_NS);
	atomic_dec(&pending);
}

static void act(void)
{
	int i;

	if (atomic_read(&pending))
		return;
	atomic_set(&pending, BATCH);
	fault_beside_until(ktime_get_ns() + GRACE_NS);
	for (i = 0; i < BATCH; i++)
		call_rcu(&heads[i], i == SLOW ? slow : quick);
}

static void end(void)
{
	rcu_barrier();
	fault_beside_stop();
}

FAULT_THREAD(act, fault_beside_start, end);
