// SPDX-License-Identifier: MIT
#include "workers.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "thread.h"

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
