// SPDX-License-Identifier: GPL-2.0
/* Preemption off for size_us: interrupts come in time, and whom they wake has to wait. */
#include "cause_module.h"

static void act(void)
{
	u64 start_ns, end_ns;

	preempt_disable();
	start_ns = ktime_get_ns();
	end_ns = cause_busy(start_ns + cause_size_ns(), cpu);
	preempt_enable();
	cause_log(start_ns, end_ns, cpu);
}

CAUSE_THREAD(act, cause_no_begin, cause_no_end);
