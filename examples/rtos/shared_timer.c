// SPDX-License-Identifier: MIT
/*
 * shared_timer - a slow timer that tasks on all CPUs and handlers read
 *
 * It has 32 bits, here made slow by its loop. Tasks disable interrupts around a shared read, so
 * that no handler meets a leader on its own CPU; handlers read by themselves, and publish.
 */
#include "../../remedies/shared_read.h"

#include "bare.h"

static struct shared_read timer;

static shared_value read_timer(void *unused)
{
	uint64_t end = ticks() + 60;

	(void)unused;
	while (ticks() < end)
		;
	return (uint32_t)ticks();
}

static uint64_t timer_for_a_task(void)
{
	uint64_t before = mask(), now = shared_read_strict(&timer);

	restore(before);
	return now;
}

static uint64_t timer_for_a_handler(void)
{
	return shared_read_nowait(&timer);
}

void run_example(void)
{
	uint64_t first, second, third;

	shared_read_init(&timer, read_timer, 0, 32, 0);
	shared_read_calibrate(&timer, ticks, 64);
	first = timer_for_a_task();
	second = timer_for_a_handler();
	third = timer_for_a_task();
	print("shared: ", timer.patience > 0);
	print("in order: ", first < second && second < third);
}
