// SPDX-License-Identifier: MIT
/* The threads of one load, and the CPUs that they may use. */
#ifndef WHYLATE_LOAD_WORKERS_H
#define WHYLATE_LOAD_WORKERS_H

#include <stddef.h>

#include "load.h"

#define WORKERS_MAX_CPUS 64

/* The CPUs that a load may run on. */
struct worker_cpus {
	uint16_t id[WORKERS_MAX_CPUS];
	size_t count; /* 0: the kernel does not report them */
};

struct worker {
	struct load_context *context;
	size_t index;
	void *shared; /* what all workers of the load share */
};

/* Returns only when the worker can not go on, after load_fail(). */
typedef void (*worker_body)(const struct worker *worker);

/*
 * workers_run - run count threads until the first of them returns
 *
 * The others still run then, and still use `shared`: the caller returns from its load, and the
 * process ends. For the same reason nothing is freed.
 */
void workers_run(struct load_context *context, size_t count, worker_body body, void *shared);

/* One pass over memory, again and again on every CPU. */
struct passes {
	struct worker_cpus cpus;
	void (*pass)(char *area);
	char *area;
	uint64_t units; /* of work, that a pass does */
};

/*
 * workers_pass - make passes on every CPU until killed; returns as workers_run() does
 *
 * All workers together take no more than about two CPUs: with more of them each pauses after a
 * pass. `passes` stays valid.
 */
void workers_pass(struct load_context *context, struct passes *passes);

#endif
