// SPDX-License-Identifier: GPL-2.0
/*
 * All CPUs are stopped for a change that nobody may see half done (stop_machine), and the change
 * takes size_us: in the stopper's thread and with interrupts off.
 */
#include <linux/stop_machine.h>

#include "fault_module_beside.h"

static int slow(void *unused) FAULT_NAMED("_f");

static int slow(void *unused)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns, fault_spin(start_ns + fault_size_ns()), smp_processor_id());
	return 0;
}

static void act(void)
{
	fault_beside();
	stop_machine(slow, NULL, cpumask_of(cpu));
}

FAULT_THREAD(act, fault_beside_start, fault_beside_stop);
