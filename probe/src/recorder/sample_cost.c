// SPDX-License-Identifier: MIT
#include "sample_cost.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "thread.h"

/* Each sleep is a timer, its interrupt, a waking and two switches: about ten events. */
#define SLEEPS	 200u
#define SLEEP_NS 100000
/* Where the CPU is busy, there are fewer. */
#define LONGEST_NS (100 * NS_PER_MS)

/* With recording and without, in turn; the median discards pairs with other interference. */
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

static int compare_signed(const void *first, const void *second)
{
	int64_t a = *(const int64_t *)first, b = *(const int64_t *)second;

	return (a > b) - (a < b);
}

static uint64_t events_on(const struct recorder *recorder, int cpu)
{
	return cpu < recorder->cpu_limit && recorder->cpus[cpu] ? recorder->cpus[cpu]->events : 0;
}

/* Two threads that wake each other on one CPU: two switches and two wakings each time. */
struct two_threads {
	pthread_t other;
	sem_t ping, pong;
	_Atomic bool ended;
	cpu_set_t before[THREAD_CPU_SETS]; /* where the calling thread may run otherwise */
	int cpu;			   /* where both are now */
};

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) == -1)
		;
}

static void *answer(void *argument)
{
	struct two_threads *two = argument;

	for (;;) {
		wait_for(&two->ping);
		if (two->ended)
			return NULL;
		sem_post(&two->pong);
	}
}

/* two_threads_begin - pin the calling thread to its CPU and start the other there; 0 or an errno */
static int two_threads_begin(struct two_threads *two)
{
	int error;

	two->ended = false;
	two->cpu = sched_getcpu();
	if (two->cpu < 0 || sched_getaffinity(0, sizeof(two->before), two->before))
		return errno ? errno : EINVAL;
	error = thread_pin(two->cpu);
	if (error)
		return error;
	sem_init(&two->ping, 0, 0);
	sem_init(&two->pong, 0, 0);
	error = thread_start(&two->other, two->cpu, answer, two);
	if (!error)
		return 0;
	sched_setaffinity(0, sizeof(two->before), two->before);
	sem_destroy(&two->ping);
	sem_destroy(&two->pong);
	return error;
}

/* two_threads_wake - wake each other this many times; returns the CPU time of all threads of the
 * probe, ns; the measuring threads wait meanwhile */
static uint64_t two_threads_wake(struct two_threads *two, unsigned times)
{
	uint64_t before_ns = clock_id_ns(CLOCK_PROCESS_CPUTIME_ID);

	for (unsigned i = 0; i < times; i++) {
		sem_post(&two->ping);
		wait_for(&two->pong);
	}
	return clock_id_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
}

/* two_threads_end - end the other thread; the calling one may run where it could before */
static void two_threads_end(struct two_threads *two)
{
	two->ended = true;
	sem_post(&two->ping);
	pthread_join(two->other, NULL);
	sem_destroy(&two->ping);
	sem_destroy(&two->pong);
	sched_setaffinity(0, sizeof(two->before), two->before);
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
	/* The first round faults in memory, which is no cost of recording. */
	two_threads_wake(&two, TIMES);
	recorder->engine->gather(recorder);
	before = events_on(recorder, two.cpu);
	pairs = compare(recorder, &two, added_ns);
	recorder->engine->gather(recorder);
	events = events_on(recorder, two.cpu) - before;
	two_threads_end(&two);
	qsort(added_ns, pairs, sizeof(*added_ns), compare_signed);
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
