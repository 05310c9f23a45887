// SPDX-License-Identifier: GPL-2.0
/* Interrupts of irq_work: one runs a function that takes size_us, those around it quick ones. */
#include <linux/irq_work.h>

#include "fault_module_beside.h"

#define QUICK_NS 2000

static void slow(struct irq_work *unused) FAULT_NAMED("_f");
static void quick(struct irq_work *unused) FAULT_NAMED("_b");

static struct irq_work slow_work = IRQ_WORK_INIT_HARD(slow);
static struct irq_work quick_works[] = {IRQ_WORK_INIT_HARD(quick), IRQ_WORK_INIT_HARD(quick)};

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
	fault_beside();
	/* Each interrupt comes at once. */
	irq_work_queue(&quick_works[0]);
	irq_work_queue(&slow_work);
	irq_work_queue(&quick_works[1]);
}

static void end(void)
{
	irq_work_sync(&slow_work);
	irq_work_sync(&quick_works[0]);
	irq_work_sync(&quick_works[1]);
	fault_beside_stop();
}

FAULT_THREAD(act, fault_beside_start, end);
