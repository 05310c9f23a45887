// SPDX-License-Identifier: MIT
/*
 * bulk_clean - a buffer's cache lines are cleaned under a lock that disables interrupts, in chunks
 *
 * The costs are measured with large chunks and with small ones; then the tuner chooses the chunk
 * for a delay of interrupts.
 */
#include "../../remedies/bulk_work.h"

#include "bare.h"

#define LINES 4096u

static uint8_t buffer[LINES * 64];
static struct remedy_lock lock;
static uint64_t before;

static void take(void *unused)
{
	(void)unused;
	before = mask();
	remedy_lock_take(&lock);
}

static void give(void *unused)
{
	(void)unused;
	remedy_lock_give(&lock);
	restore(before);
}

static void clean(void *unused, uint64_t first, uint64_t end)
{
	(void)unused;
	for (; first < end; first++)
		__asm__ volatile("dc cvac, %0" : : "r"(buffer + first * 64) : "memory");
	__asm__ volatile("dsb sy" : : : "memory");
}

static struct bulk_work work = {.take = take, .give = give, .work = clean};

static uint64_t time_work(uint64_t chunk)
{
	uint64_t start = ticks();

	work.chunk = chunk;
	bulk_work_run(&work, LINES);
	return ticks() - start;
}

void run_example(void)
{
	struct bulk_costs costs = {0, 0, 0, 0};
	struct bulk_choice choice;
	uint64_t coarse, fine, all;

	remedy_lock_init(&lock);
	all = time_work(LINES);
	coarse = time_work(512);
	fine = time_work(1);
	print("costs found: ", bulk_work_fit(LINES, 512, coarse, 1, fine, &costs) != 0);
	/* A delay of a sixteenth of the work at the median, for at most a tenth more time. */
	choice = bulk_work_choose(&costs, all / 16, 500, 100);
	work.chunk = choice.chunk;
	print("chunked: ", choice.chunk > 1 && choice.chunk < LINES);
	print("holds: ", bulk_work_run(&work, LINES) == (LINES + choice.chunk - 1) / choice.chunk);
}
