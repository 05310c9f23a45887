// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that makes its CPU idle for size_us, as drivers do that keep a processor cool
 * (play_idle). Its priority is above that of the measured thread, which waits for an idle CPU.
 */
#include <linux/cpu.h>
#include <uapi/linux/sched/types.h>

#include "fault_module_beside.h"

static void rest(void) FAULT_NAMED("_f");

static noinline void rest(void)
{
	u64 start_ns = ktime_get_ns();

	play_idle_precise(fault_size_ns(), U64_MAX);
	fault_log(start_ns, ktime_get_ns(), cpu);
}

static void act(void)
{
	struct sched_attr attr = {.sched_policy = SCHED_FIFO, .sched_priority = measured + 2};

	fault_beside();
	if (sched_setattr_nocheck(current, &attr) == 0)
		rest();
	sched_set_fifo_low(current);
}

static int begin(void)
{
	return measured + 2 > 99 ? -EINVAL : fault_beside_start();
}

FAULT_THREAD(act, begin, fault_beside_stop);
