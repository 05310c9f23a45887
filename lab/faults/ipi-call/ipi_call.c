// SPDX-License-Identifier: GPL-2.0
/* Another CPU calls a function on the measured one (an IPI), and the function takes size_us. */
#include <linux/smp.h>

#include "fault_module.h"

static uint caller_cpu = 1;
module_param(caller_cpu, uint, 0444);

static void called(void *unused)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns, fault_spin(start_ns + fault_size_ns()), smp_processor_id());
}

static void act(void)
{
	smp_call_function_single(cpu, called, NULL, 1);
}

static int begin(void)
{
	if (caller_cpu != cpu)
		return 0;
	pr_err(KBUILD_MODNAME ": the call comes from another CPU: it takes two\n");
	return -EINVAL;
}

FAULT_THREAD_ON(caller_cpu, act, begin, fault_no_end);
