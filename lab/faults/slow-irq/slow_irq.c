// SPDX-License-Identifier: GPL-2.0
/*
 * A device's interrupt whose handler takes size_us. The line is an ISA one that no device uses;
 * irq_inject_interrupt() lets the interrupt controller raise it as if a device had.
 */
#include <linux/interrupt.h>
#include <linux/irq.h>

#include "fault_module.h"

static uint irq = 7;
module_param(irq, uint, 0444);

static irqreturn_t handler(int unused, void *device)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns, fault_spin(start_ns + fault_size_ns()), smp_processor_id());
	return IRQ_HANDLED;
}

static void act(void)
{
	int error = irq_inject_interrupt(irq);

	if (error)
		pr_err_once(KBUILD_MODNAME ": interrupt %u cannot be raised (%d)\n", irq, error);
}

static int begin(void)
{
	/* Without a thread also where interrupts have one: a slow handler of the kind that hurts.
	 */
	int error =
	    request_irq(irq, handler, IRQF_NO_THREAD | IRQF_NOBALANCING, KBUILD_MODNAME, &irq);

	if (error)
		return error;
	/* Only edges can be raised: a level would have to be taken back by a device. */
	if (irqd_is_level_type(irq_get_irq_data(irq))) {
		pr_err(KBUILD_MODNAME ": interrupt %u is triggered by level: take another\n", irq);
		free_irq(irq, &irq);
		return -EINVAL;
	}
	error = irq_set_affinity(irq, cpumask_of(cpu));
	if (error)
		free_irq(irq, &irq);
	return error;
}

static void end(void)
{
	free_irq(irq, &irq);
}

FAULT_THREAD(act, begin, end);
