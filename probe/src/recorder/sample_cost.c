// SPDX-License-Identifier: MIT
#include "sample_cost.h"

#include <string.h>
#include <time.h>

#include "clock.h"

/* Each sleep is a timer, its interrupt, a waking and two switches: about ten events. */
#define SLEEPS	 200u
#define SLEEP_NS 100000
/* Where the CPU is not to be had, fewer have to do. */
#define LONGEST_NS 200000000u

void sample_cost(struct recorder *recorder, struct recorder_cost *sampled)
{
	const struct timespec sleep = {.tv_nsec = SLEEP_NS};
	uint64_t give_up_ns = clock_ns() + LONGEST_NS;

	memset(sampled, 0, sizeof(*sampled));
	if (!recorder->engine->measure || recorder->engine->measure(recorder, true))
		return;
	for (unsigned i = 0; i < SLEEPS && clock_ns() < give_up_ns; i++)
		nanosleep(&sleep, NULL);
	recorder->engine->measure(recorder, false);
	recorder->engine->cost(recorder, sampled);
}
