// SPDX-License-Identifier: GPL-2.0
/*
 * Work that was put off to an interrupt which the CPU sends to itself (irq_work), and takes
 * size_us there. Other work, in the same interrupt, is over in a moment.
 */
#include <linux/irq_work.h>

#include "fault_module_beside.h"

#define QUICK_NS 2000

static void slow(struct irq_work *unused) FAULT_NAMED("_f");
static void quick(struct irq_work *unused) FAULT_NAMED("_b");

static struct irq_work slow_work = IRQ_WORK_INIT_HARD(slow);
static struct irq_work quick_work = IRQ_WORK_INIT_HARD(quick);

static void slow(struct irq_work *unused)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns, fault_spin(start_ns + fault_size_ns()), smp_processor_id());
}

static void quick(struct irq_work *unused)
{
	fault_spin(ktime_get_ns() + QUICK_NS);
}

static void act(void)
{
	unsigned long flags;

	fault_beside();
	local_irq_save(flags);
	irq_work_queue(&quick_work);
	irq_work_queue(&slow_work);
	local_irq_restore(flags);
}

static void end(void)
{
	irq_work_sync(&slow_work);
	irq_work_sync(&quick_work);
	fault_beside_stop();
}

FAULT_THREAD(act, fault_beside_start, end);
