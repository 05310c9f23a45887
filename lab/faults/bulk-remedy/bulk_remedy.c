// SPDX-License-Identifier: GPL-2.0
/*
 * Bulk work under one lock that turns interrupts off, as bulk-lock has it: in one piece (remedy=0),
 * or in the chunks that bulk_work.h chooses for a latency (remedy=1). An item takes a microsecond
 * by the clock, which shared_read.h reads: with one thread, it never waits.
 */
#include "fault_module.h"

#include "bulk_work.h"
#include "shared_read.h"

/* What an item takes, and letting go of the lock, in ns. */
#define ITEM_NS 1000
#define GAP_NS	200
/* Of the latency: its maximum; and what letting go may cost, in thousandths. */
#define MAXIMUM	  1000
#define MOST_COST 150

static uint remedy;
module_param(remedy, uint, 0444);
static uint asked_us = 20;
module_param(asked_us, uint, 0444);

static struct remedy_lock bulk;
static struct shared_read timer;
static unsigned long flags;
static u64 begin_ns;

static shared_value read_clock(void *unused)
{
	return ktime_get_ns();
}

static void take(void *unused)
{
	local_irq_save(flags);
	remedy_lock_take(&bulk);
	begin_ns = shared_read_strict(&timer);
}

static void give(void *unused)
{
	u64 end_ns = shared_read_strict(&timer);

	remedy_lock_give(&bulk);
	local_irq_restore(flags);
	fault_log(begin_ns, end_ns, cpu);
	/* A kernel without preemption lets nobody run here by itself. */
	if (remedy)
		cond_resched();
}

static void walk(void *unused, uint64_t first, uint64_t end)
{
	fault_spin(ktime_get_ns() + (end - first) * ITEM_NS);
}

static void act(void)
{
	const struct bulk_costs costs = {
	    .item_milli = ITEM_NS * 1000, .worst_milli = ITEM_NS * 1000, .gap = GAP_NS};
	struct bulk_work work = {.take = take, .give = give, .work = walk, .chunk = size_us};

	if (remedy)
		work.chunk =
		    bulk_work_choose(&costs, (u64)asked_us * NSEC_PER_USEC, MAXIMUM, MOST_COST)
			.chunk;
	bulk_work_run(&work, size_us);
}

static int begin(void)
{
	remedy_lock_init(&bulk);
	shared_read_init(&timer, read_clock, NULL, 64, 1000);
	return 0;
}

FAULT_THREAD(act, begin, fault_no_end);
