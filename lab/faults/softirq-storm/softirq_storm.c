// SPDX-License-Identifier: GPL-2.0
/*
 * A burst of tasklets that take size_us together. They are queued in a hard interrupt, as a
 * driver does, so that a kernel without PREEMPT_RT runs them all when it leaves that interrupt; one
 * with PREEMPT_RT leaves them to ksoftirqd, which a real-time thread does not wait for.
 */
#include <linux/interrupt.h>

#include "fault_module.h"

#define TASKLETS 8

static struct tasklet_struct tasklets[TASKLETS];
static struct hrtimer timer;

static void tasklet(struct tasklet_struct *unused)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns, fault_busy_since(start_ns, start_ns + fault_size_ns() / TASKLETS, cpu),
		  cpu);
}

static enum hrtimer_restart queue(struct hrtimer *unused)
{
	int i;

	for (i = 0; i < TASKLETS; i++)
		tasklet_schedule(&tasklets[i]);
	return HRTIMER_NORESTART;
}

static void act(void)
{
	hrtimer_start(&timer, 0, HRTIMER_MODE_REL_PINNED_HARD);
}

static int begin(void)
{
	int i;

	for (i = 0; i < TASKLETS; i++)
		tasklet_setup(&tasklets[i], tasklet);
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer.function = queue;
	return 0;
}

static void end(void)
{
	int i;

	hrtimer_cancel(&timer);
	for (i = 0; i < TASKLETS; i++)
		tasklet_kill(&tasklets[i]);
}

FAULT_THREAD(act, begin, end);
