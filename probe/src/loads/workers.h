// SPDX-License-Identifier: MIT
/* The threads of one load, and the CPUs that they may use. */
#ifndef WHYLATE_LOAD_WORKERS_H
#define WHYLATE_LOAD_WORKERS_H

#include <stddef.h>

#include "load.h"

#define WORKERS_MAX_CPUS 64

/* The CPUs that this process is allowed on: isolated and offline ones are not among them. */
struct worker_cpus {
	int id[WORKERS_MAX_CPUS];
	size_t count; /* 0: the kernel does not report them */
};

struct worker {
	struct load_context *context;
	size_t index;
	void *shared; /* what all workers of the load share */
};

/* Returns only when the worker can not go on, after load_fail(). */
typedef void (*worker_body)(const struct worker *worker);

/* worker_cpus_read - the first WORKERS_MAX_CPUS CPUs that this thread may run on */
struct worker_cpus worker_cpus_read(void);

/* worker_pin - keep the calling thread on one CPU; returns 0, or an errno: to a load a CPU that
 * went away is no error */
int worker_pin(int cpu);

/*
 * workers_run - run count threads until the first of them returns
 *
 * The others still run then: the caller returns from its load, and the process ends.
 */
void workers_run(struct load_context *context, size_t count, worker_body body, void *shared);

#endif
