// SPDX-License-Identifier: MIT
#include "two_threads.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "clock.h"

#define STACK (64u << 10)

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

/* process_ns - read the CPU time of all threads of the probe; the measuring ones wait meanwhile */
static uint64_t process_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

int two_threads_begin(struct two_threads *two)
{
	pthread_attr_t attributes;
	cpu_set_t here;
	int error;

	two->ended = false;
	two->cpu = sched_getcpu();
	if (two->cpu < 0 || two->cpu >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(two->before), &two->before))
		return errno ? errno : EINVAL;
	CPU_ZERO(&here);
	CPU_SET(two->cpu, &here);
	if (sched_setaffinity(0, sizeof(here), &here))
		return errno;
	sem_init(&two->ping, 0, 0);
	sem_init(&two->pong, 0, 0);
	/* It starts where this thread is bound to. Memory is locked: all of a stack is used. */
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	error = pthread_create(&two->other, &attributes, answer, two);
	pthread_attr_destroy(&attributes);
	if (!error)
		return 0;
	sched_setaffinity(0, sizeof(two->before), &two->before);
	sem_destroy(&two->ping);
	sem_destroy(&two->pong);
	return error;
}

uint64_t two_threads_wake(struct two_threads *two, unsigned times)
{
	uint64_t before_ns = process_ns();

	for (unsigned i = 0; i < times; i++) {
		sem_post(&two->ping);
		wait_for(&two->pong);
	}
	return process_ns() - before_ns;
}

void two_threads_end(struct two_threads *two)
{
	two->ended = true;
	sem_post(&two->ping);
	pthread_join(two->other, NULL);
	sem_destroy(&two->ping);
	sem_destroy(&two->pong);
	sched_setaffinity(0, sizeof(two->before), &two->before);
}
