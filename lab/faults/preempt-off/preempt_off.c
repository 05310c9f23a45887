// SPDX-License-Identifier: GPL-2.0
/* Preemption off for size_us: interrupts come in time, and whom they wake has to wait. */
#include "fault_module.h"

static void act(void)
{
	u64 start_ns, end_ns;

	preempt_disable();
	start_ns = ktime_get_ns();
	end_ns = fault_busy_since(start_ns, start_ns + fault_size_ns(), cpu);
	preempt_enable();
	fault_log(start_ns, end_ns, cpu);
}

FAULT_THREAD(act, fault_no_begin, fault_no_end);
