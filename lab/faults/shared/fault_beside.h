/* SPDX-License-Identifier: MIT */
/*
 * What a fault of the unseen set has beside it, as a program: the measured thread, which it knows
 * by its priority, threads of its own, and a bystander.
 *
 * The bystander is a thread of SCHED_OTHER, named as the program with _b, that is busy in user
 * space: it has the CPU for a moment before the fault begins and again when it is over, and
 * whoever has a real-time priority takes it away at once.
 */
#ifndef WHYLATE_FAULT_BESIDE_H
#define WHYLATE_FAULT_BESIDE_H

#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include "fault_program.h"

/* By so much the bystander's time begins before the fault and ends after it. */
#define FAULT_BESIDE_NS 50000ull

/* fault_worker - a thread of the fault that is busy until a time, each time it is told to be */
struct fault_worker {
	const char *end; /* of its name, behind the program's */
	uint64_t cpu;
	int priority;
	_Atomic uint64_t until_ns;
	sem_t go;
	pthread_t thread;
};

/* fault_named - the calling thread has the program's name and this behind it */
static inline void fault_named(const char *end)
{
	char name[16];

	snprintf(name, sizeof(name), "%.12s%s", program_invocation_short_name, end);
	prctl(PR_SET_NAME, name);
}

static inline void *fault_worker_run(void *argument)
{
	struct fault_worker *worker = argument;

	fault_named(worker->end);
	fault_become(worker->cpu, worker->priority);
	for (;;) {
		while (sem_wait(&worker->go) != 0)
			;
		fault_spin(atomic_load(&worker->until_ns));
	}
	return NULL;
}

/* fault_thread - with a small stack: all memory is locked */
static inline void fault_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 * 1024);
	if (pthread_create(thread, &attributes, run, argument) != 0)
		fault_fail("no thread");
	pthread_attr_destroy(&attributes);
}

static inline void fault_worker_start(struct fault_worker *worker)
{
	sem_init(&worker->go, 0, 0);
	fault_thread(&worker->thread, fault_worker_run, worker);
}

static inline void fault_worker_go(struct fault_worker *worker, uint64_t until_ns)
{
	atomic_store(&worker->until_ns, until_ns);
	sem_post(&worker->go);
}

/* fault_beside - lets the bystander begin, and sleeps until it is time for the fault */
static inline void fault_beside(struct fault_worker *bystander, uint64_t size_ns)
{
	uint64_t at_ns = fault_now() + FAULT_BESIDE_NS;

	fault_worker_go(bystander, at_ns + size_ns + FAULT_BESIDE_NS);
	fault_sleep(at_ns);
}

/* The measured thread of a CPU, and its process. */
struct fault_measured {
	uint64_t cpu;
	int priority;
	pid_t thread, process; /* 0: it is not there yet */
};

static inline bool fault_is_measured(const struct fault_measured *measured, pid_t thread)
{
	struct sched_param has;
	cpu_set_t set;

	return sched_getscheduler(thread) == SCHED_FIFO && sched_getparam(thread, &has) == 0 &&
	       has.sched_priority == measured->priority &&
	       sched_getaffinity(thread, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1 &&
	       CPU_ISSET((int)measured->cpu, &set);
}

static inline pid_t fault_measured_of(const struct fault_measured *measured, pid_t process)
{
	struct dirent *entry;
	pid_t match = 0;
	char path[40];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", process);
	tasks = opendir(path);
	while (tasks && !match && (entry = readdir(tasks))) {
		pid_t thread = atoi(entry->d_name);

		if (thread > 0 && thread != process && fault_is_measured(measured, thread))
			match = thread;
	}
	if (tasks)
		closedir(tasks);
	return match;
}

/* fault_find - looks for the measured thread unless it is known and there; false: it is not */
static inline bool fault_find(struct fault_measured *measured)
{
	struct dirent *entry;
	DIR *processes;

	if (measured->thread && fault_is_measured(measured, measured->thread))
		return true;
	measured->thread = 0;
	processes = opendir("/proc");
	while (processes && !measured->thread && (entry = readdir(processes))) {
		pid_t process = atoi(entry->d_name);

		if (process <= 0 || process == getpid())
			continue;
		measured->process = process;
		measured->thread = fault_measured_of(measured, process);
	}
	if (processes)
		closedir(processes);
	return measured->thread != 0;
}

#endif
