// SPDX-License-Identifier: GPL-2.0
/* Interrupts off for size_us: nothing runs on the CPU, and its timer interrupt comes late. */
#include "cause_module.h"

static void act(void)
{
	unsigned long flags;
	u64 start_ns, end_ns;

	local_irq_save(flags);
	start_ns = ktime_get_ns();
	end_ns = cause_spin(start_ns + cause_size_ns());
	local_irq_restore(flags);
	cause_log(start_ns, end_ns, cpu);
}

CAUSE_THREAD(act, cause_no_begin, cause_no_end);
