// SPDX-License-Identifier: MIT
#include "sample_cost.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "two_threads.h"

/* Each sleep is a timer, its interrupt, a waking and two switches: about ten events. */
#define SLEEPS	 200u
#define SLEEP_NS 100000
/* Where the CPU is not to be had, fewer have to do. */
#define LONGEST_NS 100000000u

/* With recording and without, in turn; the median leaves out where something else came between. */
#define PAIRS 9u
#define TIMES 300u
/* Fewer are not significant. */
#define PAIRS_LEAST 3u

static void measured(struct recorder *recorder, struct recorder_cost *sampled)
{
	const struct timespec sleep = {.tv_nsec = SLEEP_NS};
	uint64_t give_up_ns = clock_ns() + LONGEST_NS;

	if (recorder->engine->measure(recorder, true))
		return;
	for (unsigned i = 0; i < SLEEPS && clock_ns() < give_up_ns; i++)
		nanosleep(&sleep, NULL);
	recorder->engine->measure(recorder, false);
	recorder->engine->cost(recorder, sampled);
}

static int compare_sizes(const void *first, const void *second)
{
	int64_t a = *(const int64_t *)first, b = *(const int64_t *)second;

	return a < b ? -1 : a > b;
}

static uint64_t events_on(const struct recorder *recorder, int cpu)
{
	return cpu < recorder->cpu_limit && recorder->cpus[cpu] ? recorder->cpus[cpu]->events : 0;
}

/* compare - measure the CPU time that recording adds to so many wakings, by pairs; returns how many
 */
static unsigned compare(struct recorder *recorder, struct two_threads *two, int64_t *added_ns)
{
	uint64_t give_up_ns = clock_ns() + LONGEST_NS;
	unsigned pairs = 0;

	while (pairs < PAIRS && clock_ns() < give_up_ns) {
		uint64_t with_ns, without_ns;

		with_ns = two_threads_wake(two, TIMES);
		if (recorder->engine->pause(recorder, true))
			break;
		without_ns = two_threads_wake(two, TIMES);
		added_ns[pairs++] = (int64_t)(with_ns - without_ns);
		if (recorder->engine->pause(recorder, false))
			break;
	}
	return pairs;
}

static void compared(struct recorder *recorder, struct recorder_cost *sampled)
{
	int64_t added_ns[PAIRS];
	struct two_threads two;
	uint64_t before, events;
	unsigned pairs;

	if (two_threads_begin(&two))
		return;
	/* What both touch for the first time is no cost of recording. */
	two_threads_wake(&two, TIMES);
	recorder->engine->gather(recorder);
	before = events_on(recorder, two.cpu);
	pairs = compare(recorder, &two, added_ns);
	recorder->engine->gather(recorder);
	events = events_on(recorder, two.cpu) - before;
	two_threads_end(&two);
	qsort(added_ns, pairs, sizeof(*added_ns), compare_sizes);
	if (pairs < PAIRS_LEAST || !events || added_ns[pairs / 2] <= 0)
		return;
	sampled->runs = events;
	sampled->run_ns = (uint64_t)added_ns[pairs / 2] * pairs;
}

void sample_cost(struct recorder *recorder, struct recorder_cost *sampled)
{
	memset(sampled, 0, sizeof(*sampled));
	if (recorder->engine->measure)
		measured(recorder, sampled);
	else if (recorder->engine->pause)
		compared(recorder, sampled);
}
