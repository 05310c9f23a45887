// SPDX-License-Identifier: MIT
/*
 * switch - many threads hand a few tokens round a ring
 *
 * Stresses the scheduler: sleeping, waking, choosing the CPU of the woken thread, rescheduling
 * interrupts between CPUs, and the run queue locks that a measured thread's own wakeup needs.
 * Links of the ring are pipes and semaphores by turns, as they wake through different code: wait
 * queues with the pipe's mutex, and futex hash buckets.
 *
 * There are many more threads than tokens, so that nearly every thread that passes one has to
 * sleep before it gets the next: nearly every pass is a context switch. No more threads can run
 * than there are tokens, and as a token spends about half of its time in wakeups, one instance
 * keeps one or two CPUs busy.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kinds.h"
#include "workers.h"

#define RING   24
#define TOKENS 3
/* Passes between two updates of the shared counter, which would else bounce between the CPUs. */
#define BATCH 16

/* From thread i - 1 to thread i. */
struct link {
	bool is_pipe;
	int read_end;
	int write_end;
	sem_t tokens;
};

/* link_open - open a pipe for an even place in the ring, a semaphore for the others */
static int link_open(struct link *link, size_t place)
{
	int ends[2];

	link->is_pipe = place % 2 == 0;
	if (!link->is_pipe)
		return sem_init(&link->tokens, 0, 0);
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	link->read_end = ends[0];
	link->write_end = ends[1];
	return 0;
}

/* link_put - hand a token on; a pipe has room for thousands, so that this never waits */
static bool link_put(struct link *link)
{
	if (!link->is_pipe)
		return !sem_post(&link->tokens);
	return write(link->write_end, "t", 1) == 1;
}

/* wait_token - wait for a token */
static bool wait_token(struct link *link)
{
	char token;

	if (!link->is_pipe)
		return !sem_wait(&link->tokens);
	return read(link->read_end, &token, 1) == 1;
}

/* pass_tokens - one thread of the ring */
static void pass_tokens(const struct worker *worker)
{
	struct link *ring = worker->shared;
	struct link *mine = &ring[worker->index];
	struct link *next = &ring[(worker->index + 1) % RING];

	for (;;) {
		for (int i = 0; i < BATCH; i++) {
			while (!wait_token(mine)) {
				if (errno != EINTR)
					goto broken;
			}
			while (!link_put(next)) {
				if (errno != EINTR)
					goto broken;
			}
		}
		load_count(worker->context, BATCH);
	}
broken:
	load_fail(worker->context, "the ring of threads broke: %s", strerror(errno));
}

void load_switch(struct load_context *context)
{
	struct link *ring = calloc(RING, sizeof(*ring));

	if (!ring) {
		load_fail(context, "no memory for a ring of threads");
		return;
	}
	for (size_t i = 0; i < RING; i++) {
		if (link_open(&ring[i], i)) {
			load_fail(context,
				  "cannot open the pipes of the switch load: %s; raise the "
				  "limit of open files",
				  strerror(errno));
			return;
		}
	}
	for (size_t i = 0; i < TOKENS; i++)
		link_put(&ring[i * RING / TOKENS]);
	workers_run(context, RING, pass_tokens, ring);
}
