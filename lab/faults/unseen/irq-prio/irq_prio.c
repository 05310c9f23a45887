// SPDX-License-Identifier: GPL-2.0
/*
 * The thread of a device's interrupt has a priority above what is measured, as boards are tuned,
 * and takes size_us. The interrupt itself only wakes it. The line is an ISA one that no device
 * uses; irq_inject_interrupt() lets the interrupt controller raise it as if a device had.
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <uapi/linux/sched/types.h>

#include "fault_module_beside.h"

static uint irq = 6;
module_param(irq, uint, 0444);

static irqreturn_t quick(int unused, void *device) FAULT_NAMED("_h");
static irqreturn_t slow(int unused, void *device) FAULT_NAMED("_f");

static irqreturn_t quick(int unused, void *device)
{
	return IRQ_WAKE_THREAD;
}

/* raise_priority - of the interrupt's thread, which nobody but itself knows */
static void raise_priority(void)
{
	struct sched_attr attr = {.sched_policy = SCHED_FIFO, .sched_priority = measured + 2};

	if (current->rt_priority != attr.sched_priority)
		sched_setattr_nocheck(current, &attr);
}

static irqreturn_t slow(int unused, void *device)
{
	u64 start_ns;

	raise_priority();
	start_ns = ktime_get_ns();
	fault_log(start_ns, fault_busy(start_ns + fault_size_ns(), cpu), cpu);
	return IRQ_HANDLED;
}

static void act(void)
{
	int error;

	fault_beside();
	error = irq_inject_interrupt(irq);
	if (error)
		pr_err_once(KBUILD_MODNAME ": interrupt %u cannot be raised (%d)\n", irq, error);
}

static int begin(void)
{
	int error;

	if (measured + 2 > 99)
		return -EINVAL;
	error = request_threaded_irq(irq, quick, slow, IRQF_NOBALANCING, KBUILD_MODNAME, &irq);
	if (error)
		return error;
	/* Only edges can be raised: a level would have to be taken back by a device. */
	if (irqd_is_level_type(irq_get_irq_data(irq))) {
		pr_err(KBUILD_MODNAME ": interrupt %u is triggered by level: take another\n", irq);
		error = -EINVAL;
	}
	if (!error)
		error = irq_set_affinity(irq, cpumask_of(cpu));
	if (!error)
		error = fault_beside_start();
	if (error)
		free_irq(irq, &irq);
	return error;
}

static void end(void)
{
	free_irq(irq, &irq);
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
