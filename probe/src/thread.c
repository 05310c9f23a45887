// SPDX-License-Identifier: MIT
#include "thread.h"

#include <errno.h>
#include <unistd.h>

/* Sixty-four of these still fit a board with 64 MB. */
#define STACK_BYTES (64 * 1024)

static void fill_sets(cpu_set_t *sets, int cpu)
{
	CPU_ZERO_S(THREAD_CPU_SETS * sizeof(*sets), sets);
	CPU_SET_S((size_t)cpu, THREAD_CPU_SETS * sizeof(*sets), sets);
}

int thread_start(pthread_t *thread, int cpu, void *(*body)(void *), void *argument)
{
	long least = sysconf(_SC_THREAD_STACK_MIN);
	cpu_set_t sets[THREAD_CPU_SETS];
	pthread_attr_t attributes;
	int error = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, least > STACK_BYTES ? (size_t)least : STACK_BYTES);
	if (cpu != THREAD_ANY_CPU) {
		fill_sets(sets, cpu);
		error = pthread_attr_setaffinity_np(&attributes, sizeof(sets), sets);
	}
	if (!error)
		error = pthread_create(thread, &attributes, body, argument);
	pthread_attr_destroy(&attributes);
	return error;
}

int thread_pin(int cpu)
{
	cpu_set_t sets[THREAD_CPU_SETS];

	fill_sets(sets, cpu);
	return sched_setaffinity(0, sizeof(sets), sets) ? errno : 0;
}

int thread_schedule(int policy, int priority)
{
	struct sched_param param = {.sched_priority = priority};

	return sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &param) ? errno : 0;
}

size_t thread_cpus(uint16_t *cpus, size_t room)
{
	cpu_set_t sets[THREAD_CPU_SETS];
	size_t count = 0;

	if (sched_getaffinity(0, sizeof(sets), sets))
		return 0;
	for (size_t cpu = 0; cpu < THREAD_CPU_SETS * CPU_SETSIZE && count < room; cpu++)
		if (CPU_ISSET_S(cpu, sizeof(sets), sets))
			cpus[count++] = (uint16_t)cpu;
	return count;
}
