// SPDX-License-Identifier: MIT
#include "armer.h"

#include "clock.h"
#include "numbers.h"
#include "thread.h"
#include "wire/bins.h"

/* Of so many times one is followed by no execution of an arm, and it is looked at what it did. */
#define CHECKED_ONE_IN 5u
#define NOTHING_ARMED  0u

/* check - read, and again after an arm: whether that is driven out of the caches of this CPU,
 * where it surely was; is_counted: with how long that takes */
static void check(const struct armer *armer, bool is_treated, bool is_counted)
{
	uint64_t began_ns, took_ns;

	armer->read(armer->context);
	armer->apply(armer->context, is_treated);
	began_ns = clock_ns();
	armer->read(armer->context);
	took_ns = clock_ns() - began_ns;
	if (is_counted)
		armer->cpu->arms[is_treated].bins[bins_find(took_ns)]++;
}

static void *arm_often(void *argument)
{
	struct armer *armer = argument;
	uint64_t drawn[2] = {0}, checked[2] = {0}, looks = 0;
	__u64 *armed = &armer->cpu->armed;

	while (!__atomic_load_n(&armer->is_over, __ATOMIC_RELAXED)) {
		uint64_t number = draw_u64(&armer->seed);
		bool is_treated = number >> 63;

		clock_sleep_until(clock_ns() + armer->least_ns +
				  number % (armer->most_ns - armer->least_ns));
		/* No execution has begun since the last time. */
		if (__atomic_load_n(armed, __ATOMIC_ACQUIRE) != NOTHING_ARMED)
			continue;
		if (++looks % CHECKED_ONE_IN == 0) {
			/* It brings back what it reads: the next execution is of neither arm. None
			 * has more checks than executions. */
			check(armer, is_treated, checked[is_treated] + 1 < drawn[is_treated]);
			checked[is_treated] += checked[is_treated] + 1 < drawn[is_treated];
			continue;
		}
		armer->apply(armer->context, is_treated);
		drawn[is_treated]++;
		__atomic_store_n(armed, is_treated ? EXECUTION_TREATED : EXECUTION_PLACEBO,
				 __ATOMIC_RELEASE);
	}
	__atomic_store_n(armed, NOTHING_ARMED, __ATOMIC_RELEASE);
	return NULL;
}

int armer_start(struct armer *armer, int cpu)
{
	int error;

	armer->seed = clock_ns() | 1;
	armer->is_over = 0;
	error = thread_start(&armer->thread, cpu, arm_often, armer);
	armer->is_running = !error;
	return error;
}

void armer_stop(struct armer *armer)
{
	if (!armer->is_running)
		return;
	__atomic_store_n(&armer->is_over, 1, __ATOMIC_RELAXED);
	pthread_join(armer->thread, NULL);
	armer->is_running = false;
}
