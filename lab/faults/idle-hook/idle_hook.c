// SPDX-License-Identifier: GPL-2.0
/*
 * A function at the tracepoint of idle states that takes size_us when the CPU has left one because
 * a thread was woken: the switch to that thread comes late.
 */
#include <trace/events/power.h>

#include "fault_module_beside.h"

static void hook(void *unused, unsigned int state, unsigned int on_cpu) FAULT_NAMED("_f");

/* The bystander is done when the CPU becomes idle. */
#define BEFORE_NS 30000

static struct tracepoint *tracepoint;
static int armed;

static void hook(void *unused, unsigned int state, unsigned int on_cpu)
{
	u64 start_ns;

	if (state != PWR_EVENT_EXIT || on_cpu != cpu || !READ_ONCE(armed) || !need_resched())
		return;
	WRITE_ONCE(armed, 0);
	start_ns = ktime_get_ns();
	fault_log(start_ns, fault_spin(start_ns + fault_size_ns()), cpu);
}

static void act(void)
{
	fault_beside_until(ktime_get_ns() + BEFORE_NS);
	WRITE_ONCE(armed, 1);
}

static int begin(void)
{
	int error;

	tracepoint = fault_tracepoint("cpu_idle");
	if (!tracepoint)
		return -ENOENT;
	error = fault_beside_start();
	if (error)
		return error;
	error = tracepoint_probe_register(tracepoint, hook, NULL);
	if (error)
		fault_beside_stop();
	return error;
}

static void end(void)
{
	tracepoint_probe_unregister(tracepoint, hook, NULL);
	tracepoint_synchronize_unregister();
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
