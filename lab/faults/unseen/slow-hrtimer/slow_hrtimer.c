// SPDX-License-Identifier: GPL-2.0
/*
 * A timer of a module whose function takes size_us in the timer interrupt itself. Shortly before,
 * another timer's function is over in a moment.
 */
#include "fault_module_beside.h"

#define QUICK_NS 2000

static enum hrtimer_restart slow(struct hrtimer *unused) FAULT_NAMED("_f");
static enum hrtimer_restart quick(struct hrtimer *unused) FAULT_NAMED("_b");

static struct hrtimer slow_timer, quick_timer;

static enum hrtimer_restart slow(struct hrtimer *unused)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns, fault_spin(start_ns + fault_size_ns()), smp_processor_id());
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart quick(struct hrtimer *unused)
{
	fault_spin(ktime_get_ns() + QUICK_NS);
	return HRTIMER_NORESTART;
}

static void act(void)
{
	u64 at_ns = fault_beside_begin();

	hrtimer_start(&quick_timer, ns_to_ktime(at_ns - FAULT_BESIDE_NS / 2),
		      HRTIMER_MODE_ABS_PINNED_HARD);
	hrtimer_start(&slow_timer, ns_to_ktime(at_ns), HRTIMER_MODE_ABS_PINNED_HARD);
}

static int begin(void)
{
	hrtimer_init(&slow_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	slow_timer.function = slow;
	hrtimer_init(&quick_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	quick_timer.function = quick;
	return fault_beside_start();
}

static void end(void)
{
	hrtimer_cancel(&slow_timer);
	hrtimer_cancel(&quick_timer);
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
