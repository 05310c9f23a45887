// SPDX-License-Identifier: MIT
/*
 * Detaching the recorder during some blocks of a workload, so that the run shows what the recorder
 * adds to its latencies.
 *
 * A thread of its own switches: the kernel may need seconds for it on a busy board, and the samples
 * cannot wait for that.
 */
#ifndef WHYLATE_RECORDER_DETACHING_H
#define WHYLATE_RECORDER_DETACHING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"
#include "wire/messages.h"

struct guardian;
struct sender;

/* A stretch of blocks in which it is detached. Its times are set as they come; 0: not yet. */
struct detached {
	uint64_t due_ns; /* when it is to begin and to end */
	uint64_t end_ns;
	_Atomic uint64_t begin_ns; /* detaching begins, and is done */
	_Atomic uint64_t from_ns;
	_Atomic uint64_t to_ns; /* attaching begins, and is done */
	_Atomic uint64_t until_ns;
	int error;
	/* The examining thread's: events once it was detached, and before it was attached again */
	bool has_before;
	bool has_after;
	uint64_t before;
	uint64_t after;
};

struct detaching {
	/* For the next workload, as requested. */
	uint64_t block_ns;
	uint16_t blocks[WIRE_MOST_DETACHED];
	size_t count;
	/* Of the workload that runs. */
	bool running;
	struct recorder *recorder;
	struct detached *stretches; /* NULL: it is never detached */
	size_t stretch_count;
	size_t sent; /* of them, and what was skipped before the last of these */
	pthread_t thread;
	int expedited_fd;     /* of the kernel's setting; -1: it is left alone */
	pthread_mutex_t lock; /* of stop */
	pthread_cond_t stopped;
	bool stop;
};

/* detaching_request - set the blocks of the next workload; returns 0 or an errno */
int detaching_request(struct detaching *detaching, const struct wire_detach *request);

/* detaching_start - begin, for a workload whose first activation is due at start_ns, in a thread of
 * SCHED_FIFO with that priority; 0: SCHED_OTHER. Returns 0, or an errno, and then the recorder
 * stays attached. */
int detaching_start(struct detaching *detaching, struct recorder *recorder,
		    struct guardian *guardian, uint64_t start_ns, int priority);

/* detaching_count - count events, after each gather */
void detaching_count(struct detaching *detaching);

/* detaching_hides - whether nothing is recorded of an activation: it is due before the recorder is
 * attached again, and runs after it began to be detached */
bool detaching_hides(const struct detaching *detaching, uint64_t due_ns, uint64_t run_ns);

/* detaching_since - return since when it was attached at that time; 0: from the start */
uint64_t detaching_since(const struct detaching *detaching, uint64_t time_ns);

/* detaching_send - send the stretches that are over: a run may break before its end */
void detaching_send(struct detaching *detaching, struct sender *sender);

/* detaching_end - stop switching, and send what was done and not yet sent */
void detaching_end(struct detaching *detaching, struct sender *sender);

#endif
