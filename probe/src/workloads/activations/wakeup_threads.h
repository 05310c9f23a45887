// SPDX-License-Identifier: MIT
/*
 * The threads of the wakeup workload: one per CPU sleeps until absolute deadlines and reads the
 * clock when it runs.
 *
 * An activation that came due before the preceding one had woken is an overrun: it is not run
 * later, but counted at its lower bound.
 */
#ifndef WHYLATE_WAKEUP_THREADS_H
#define WHYLATE_WAKEUP_THREADS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring.h"

struct recorder_want;
struct threshold;

struct wakeup_plan {
	uint64_t interval_ns;
	uint64_t duration_ns;
	uint64_t phase_ns; /* the first deadline is so much later */
	int priority;
	bool hold_idle;
};

/* What a measuring thread counts; its own until the thread has ended. */
struct wakeup_count {
	uint64_t seen;
	uint64_t overrun;
	uint64_t dropped; /* without room in the ring; in neither of the others */
};

struct wakeup_cpu {
	struct ring ring;
	/* All activations below this index are in the ring, were taken, or were dropped. */
	_Alignas(64) _Atomic uint64_t next;
	struct wakeup_count count;
	_Atomic bool ended;
	_Alignas(64) uint64_t start_ns;
	uint64_t interval_ns;
	struct recorder_want *want; /* NULL: nothing is recorded */
	struct threshold *late;	    /* likewise */
	/* The first activation with a larger latency ends the workload; 0: none does. */
	uint64_t stop_above_ns;
	/* Called by the measuring thread at once then. */
	void (*too_late)(void *context, const struct wakeup_cpu *cpu, uint64_t index);
	void *too_late_context;
	_Atomic uint64_t *end_ns;
	sem_t *ready;
	sem_t *go;
	pthread_t thread;
	uint32_t tid;
	uint16_t cpu;
	bool began_late; /* was let go after its first deadline */
	bool was_moved;	 /* was not bound to its CPU any more at the end */
	int asked_priority;
	int policy;
	int priority;
};

struct wakeup_threads {
	struct wakeup_plan plan;
	struct wakeup_cpu *cpus;
	size_t count;
	_Atomic uint64_t end_ns;
	sem_t ready;
	sem_t go;
	size_t started;
	bool memory_locked;
	int idle_fd;	/* /dev/cpu_dma_latency, held at 0; -1 where it is not */
	int idle_error; /* why not */
};

/* wakeup_threads_start - lock memory and start the threads, which then wait for the go.
 * Returns 0, or an errno with *step saying what failed; then nothing is left running. */
int wakeup_threads_start(struct wakeup_threads *threads, const struct wakeup_plan *plan,
			 const uint16_t *cpus, size_t count, const char **step);

/* wakeup_threads_go - let the threads go */
void wakeup_threads_go(struct wakeup_threads *threads);

/* wakeup_threads_stop - end now: what comes due from now on is not measured */
void wakeup_threads_stop(struct wakeup_threads *threads);

/* wakeup_threads_ended - whether every thread has ended; joins them then */
bool wakeup_threads_ended(struct wakeup_threads *threads);

/* wakeup_threads_free - free threads, memory and the hold on idle states */
void wakeup_threads_free(struct wakeup_threads *threads);

#endif
