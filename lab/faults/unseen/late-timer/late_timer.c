// SPDX-License-Identifier: GPL-2.0
/*
 * The timer's driver programs the hardware for size_us after the time that the measured thread
 * asked for, now and then: the CPU is free, interrupts are on, and the interrupt comes late.
 */
#include <linux/clockchips.h>
#include <linux/smp.h>

#include "fault_module_beside.h"

static int program(unsigned long ticks, struct clock_event_device *device) FAULT_NAMED("_f");

/* So long the bystander has the CPU. */
#define AROUND_NS 600000

/* As in kernel/time/tick-sched.h, which modules do not have. */
struct tick {
	struct clock_event_device *device;
};

static struct clock_event_device *device;
static int (*programmed)(unsigned long ticks, struct clock_event_device *device);
static int armed;

static int program(unsigned long ticks, struct clock_event_device *of)
{
	if (READ_ONCE(armed) && of == device && fault_is_measured(current)) {
		u64 due_ns = ktime_to_ns(of->next_event);

		WRITE_ONCE(armed, 0);
		ticks += (fault_size_ns() * of->mult) >> of->shift;
		fault_log(due_ns, due_ns + fault_size_ns(), cpu);
	}
	return programmed(ticks, of);
}

static void act(void)
{
	fault_beside_until(ktime_get_ns() + AROUND_NS);
	WRITE_ONCE(armed, 1);
}

static int begin(void)
{
	struct tick *(*get)(int on_cpu) = fault_address("tick_get_device");
	struct tick *tick = get && cpu < nr_cpu_ids ? get(cpu) : NULL;
	int error;

	if (!tick || !tick->device || !tick->device->set_next_event)
		return -ENODEV;
	error = fault_beside_start();
	if (error)
		return error;
	device = tick->device;
	programmed = device->set_next_event;
	WRITE_ONCE(device->set_next_event, program);
	return 0;
}

static void end(void)
{
	WRITE_ONCE(device->set_next_event, programmed);
	synchronize_rcu();
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
