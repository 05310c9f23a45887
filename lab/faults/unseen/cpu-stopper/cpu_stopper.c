// SPDX-License-Identifier: GPL-2.0
/*
 * Work of size_us for one CPU's stopper (stop_one_cpu), the thread that is ahead of every
 * priority and otherwise moves threads between CPUs. Interrupts come in time.
 */
#include <linux/stop_machine.h>

#include "fault_module_beside.h"

static int slow(void *unused) FAULT_NAMED("_f");

static int (*stop)(unsigned int on_cpu, cpu_stop_fn_t function, void *argument);

static int slow(void *unused)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns, fault_busy(start_ns + fault_size_ns(), cpu), cpu);
	return 0;
}

static void act(void)
{
	fault_beside();
	stop(cpu, slow, NULL);
}

static int begin(void)
{
	stop = fault_address("stop_one_cpu");
	return stop ? fault_beside_start() : -ENOENT;
}

FAULT_THREAD(act, begin, fault_beside_stop);
