// SPDX-License-Identifier: GPL-2.0
/*
 * A timer of the timer wheel whose function takes size_us in the softirq of the tick. Another
 * timer's function, in the same softirq, is over in a moment.
 */
#include <linux/timer.h>

#include "fault_module_beside.h"

#define QUICK_NS 2000

static void slow(struct timer_list *unused) FAULT_NAMED("_f");
static void quick(struct timer_list *unused) FAULT_NAMED("_b");

static struct timer_list slow_timer, quick_timer;

static void slow(struct timer_list *unused)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns, fault_busy(start_ns + fault_size_ns(), cpu), cpu);
}

static void quick(struct timer_list *unused)
{
	fault_spin(ktime_get_ns() + QUICK_NS);
}

/* act - the bystander has the CPU when the tick comes that both are due at */
static void act(void)
{
	unsigned long at = jiffies + 1;

	fault_beside_until(ktime_get_ns() + 2 * TICK_NSEC);
	mod_timer(&quick_timer, at);
	mod_timer(&slow_timer, at);
}

static int begin(void)
{
	timer_setup(&slow_timer, slow, TIMER_PINNED);
	timer_setup(&quick_timer, quick, TIMER_PINNED);
	return fault_beside_start();
}

static void end(void)
{
	del_timer_sync(&slow_timer);
	del_timer_sync(&quick_timer);
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
