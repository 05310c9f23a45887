// SPDX-License-Identifier: MIT
#include "workers.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sixty-four of these still fit a board with 64 MB. */
#define STACK_BYTES (64 * 1024)

struct thread {
	struct worker worker;
	worker_body body;
	sem_t *returned;
};

/* worker_cpus_read - the first WORKERS_MAX_CPUS CPUs that this thread may run on */
struct worker_cpus worker_cpus_read(void)
{
	struct worker_cpus cpus = {.count = 0};
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return cpus;
	for (int cpu = 0; cpu < CPU_SETSIZE && cpus.count < WORKERS_MAX_CPUS; cpu++) {
		if (CPU_ISSET((size_t)cpu, &allowed))
			cpus.id[cpus.count++] = cpu;
	}
	return cpus;
}

int worker_pin(int cpu)
{
	size_t count = (size_t)cpu + 1;
	size_t size = CPU_ALLOC_SIZE(count);
	cpu_set_t *only = CPU_ALLOC(count);
	int error;

	if (!only)
		return ENOMEM;
	CPU_ZERO_S(size, only);
	CPU_SET_S((size_t)cpu, size, only);
	error = sched_setaffinity(0, size, only) ? errno : 0;
	CPU_FREE(only);
	return error;
}

/* thread_main - run one worker, and notify workers_run() when it gave up */
static void *thread_main(void *argument)
{
	struct thread *thread = argument;

	thread->body(&thread->worker);
	sem_post(thread->returned);
	return NULL;
}

/*
 * workers_run - run count threads until the first of them returns
 *
 * Nothing is freed: threads that still run use it until the process ends.
 */
void workers_run(struct load_context *context, size_t count, worker_body body, void *shared)
{
	struct thread *threads = calloc(count, sizeof(*threads));
	sem_t *returned = calloc(1, sizeof(*returned));
	pthread_attr_t attributes;
	long least = sysconf(_SC_THREAD_STACK_MIN);

	if (!threads || !returned) {
		load_fail(context, "no memory for %zu threads", count);
		return;
	}
	sem_init(returned, 0, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, least > STACK_BYTES ? (size_t)least : STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	for (size_t i = 0; i < count; i++) {
		pthread_t id;
		threads[i] = (struct thread){
		    .worker = {.context = context, .index = i, .shared = shared},
		    .body = body,
		    .returned = returned,
		};
		int error = pthread_create(&id, &attributes, thread_main, &threads[i]);
		if (error) {
			load_fail(context,
				  "cannot start thread %zu of %zu: %s; raise the process limit",
				  i + 1, count, strerror(error));
			return;
		}
	}
	pthread_attr_destroy(&attributes);
	while (sem_wait(returned) && errno == EINTR)
		;
}
