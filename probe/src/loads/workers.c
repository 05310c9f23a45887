// SPDX-License-Identifier: MIT
#include "workers.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "thread.h"

/* All workers that make passes take no more than about this many CPUs. */
#define MOST_CPUS 2u

struct running {
	struct worker worker;
	worker_body body;
	sem_t *returned;
};

/* thread_main - run one worker, and notify workers_run() when it gave up */
static void *thread_main(void *argument)
{
	struct running *running = argument;

	running->body(&running->worker);
	sem_post(running->returned);
	return NULL;
}

void workers_run(struct load_context *context, size_t count, worker_body body, void *shared)
{
	struct running *threads = calloc(count, sizeof(*threads));
	sem_t *returned = calloc(1, sizeof(*returned));

	if (!threads || !returned) {
		load_fail(context, "no memory for %zu threads", count);
		return;
	}
	sem_init(returned, 0, 0);
	for (size_t i = 0; i < count; i++) {
		pthread_t id;
		int error;

		threads[i] = (struct running){
		    .worker = {.context = context, .index = i, .shared = shared},
		    .body = body,
		    .returned = returned,
		};
		error = thread_start(&id, THREAD_ANY_CPU, thread_main, &threads[i]);
		if (error) {
			load_fail(context,
				  "cannot start thread %zu of %zu: %s; raise the process limit",
				  i + 1, count, strerror(error));
			return;
		}
	}
	while (sem_wait(returned) && errno == EINTR)
		;
}

/* pass_on - make passes, and pause where the workers would take too much */
static void pass_on(const struct worker *worker)
{
	const struct passes *passes = worker->shared;
	uint64_t count = passes->cpus.count;

	if (count)
		thread_pin(passes->cpus.id[worker->index]);
	for (;;) {
		uint64_t began_ns = clock_ns(), took_ns;

		passes->pass(passes->area);
		load_count(worker->context, passes->units);
		took_ns = clock_ns() - began_ns;
		if (count > MOST_CPUS) {
			struct timespec pause =
			    clock_timespec(took_ns * (count - MOST_CPUS) / MOST_CPUS);

			nanosleep(&pause, NULL);
		}
	}
}

void workers_pass(struct load_context *context, struct passes *passes)
{
	passes->cpus.count = thread_cpus(passes->cpus.id, WORKERS_MAX_CPUS);
	workers_run(context, passes->cpus.count ? passes->cpus.count : 1, pass_on, passes);
}
