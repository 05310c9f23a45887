// SPDX-License-Identifier: GPL-2.0
/*
 * Bulk work on an outer cache under one lock that turns interrupts off, as a cache controller's
 * range operations have it: in one piece (chunk_us=0), or in chunks between which the lock is let
 * go. The walk is timed by the clock and touches no cache, which an emulator does not have.
 */
#include <linux/spinlock.h>

#include "fault_module.h"

static uint chunk_us;
module_param(chunk_us, uint, 0444);

static DEFINE_RAW_SPINLOCK(bulk);

static void act(void)
{
	u64 left_ns = fault_size_ns(), chunk_ns = (u64)chunk_us * NSEC_PER_USEC;

	while (left_ns) {
		u64 piece_ns = chunk_ns && chunk_ns < left_ns ? chunk_ns : left_ns;
		unsigned long flags;
		u64 start_ns, end_ns;

		raw_spin_lock_irqsave(&bulk, flags);
		start_ns = ktime_get_ns();
		end_ns = fault_spin(start_ns + piece_ns);
		raw_spin_unlock_irqrestore(&bulk, flags);
		fault_log(start_ns, end_ns, cpu);
		left_ns -= piece_ns;
	}
}

FAULT_THREAD(act, fault_no_begin, fault_no_end);
