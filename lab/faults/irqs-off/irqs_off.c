// SPDX-License-Identifier: GPL-2.0
/* Interrupts off for size_us: nothing runs on the CPU, and its timer interrupt comes late. */
#include "fault_module.h"

static void act(void)
{
	unsigned long flags;
	u64 start_ns, end_ns;

	local_irq_save(flags);
	start_ns = ktime_get_ns();
	end_ns = fault_spin(start_ns + fault_size_ns());
	local_irq_restore(flags);
	fault_log(start_ns, end_ns, cpu);
}

FAULT_THREAD(act, fault_no_begin, fault_no_end);
