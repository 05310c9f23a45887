// SPDX-License-Identifier: MIT
/*
 * timer - thousands of timer interrupts a second, spread over the CPUs
 *
 * Stresses what a measured thread's own wakeup goes through: programming the clock event device,
 * the timer interrupt, the tree of pending timers and its lock, and the wakeup from interrupt
 * context. On boards whose timers are slow to program, or are one device shared by all CPUs,
 * that alone is latency.
 *
 * Each CPU has a thread of its own with several timers whose phases are staggered. A timer that
 * is re-armed fires on the CPU that re-armed it, which is why the threads are pinned. The kernel
 * re-arms a timerfd only when it is read, so that one read is one expiration that was handled:
 * what was missed meanwhile is not counted as work.
 */
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "kinds.h"
#include "workers.h"

#define TIMERS 8
/* Expirations a second: of one CPU, and of all together. */
#define MOST_PER_CPU  10000
#define MOST_TOGETHER 20000
#define NS_PER_S      1000000000ll

/* after - a point in time moved on */
static struct timespec after(struct timespec time, long long ns)
{
	ns += time.tv_nsec;
	time.tv_sec += (time_t)(ns / NS_PER_S);
	time.tv_nsec = (long)(ns % NS_PER_S);
	return time;
}

/* arm - TIMERS periodic timers, the next due every step_ns; 0, or -1 with errno */
static int arm(int timers[TIMERS], long long step_ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (int i = 0; i < TIMERS; i++) {
		struct itimerspec when = {
		    .it_value = after(now, NS_PER_S / 1000 + i * step_ns),
		    .it_interval = after((struct timespec){0}, TIMERS * step_ns),
		};
		timers[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		if (timers[i] < 0 || timerfd_settime(timers[i], TFD_TIMER_ABSTIME, &when, NULL))
			return -1;
	}
	return 0;
}

/* expire - wait for one timer after the other, for ever */
static void expire(const struct worker *worker)
{
	const struct worker_cpus *cpus = worker->shared;
	long long threads = cpus->count ? (long long)cpus->count : 1;
	long long per_cpu = MOST_TOGETHER / threads;
	int timers[TIMERS];
	uint64_t expirations;

	if (cpus->count)
		worker_pin(cpus->id[worker->index]);
	if (per_cpu > MOST_PER_CPU)
		per_cpu = MOST_PER_CPU;
	if (arm(timers, NS_PER_S / per_cpu)) {
		load_fail(worker->context,
			  "cannot arm a timer: %s; the kernel needs CONFIG_TIMERFD",
			  strerror(errno));
		return;
	}
	for (size_t i = 0;; i = (i + 1) % TIMERS) {
		ssize_t got = read(timers[i], &expirations, sizeof(expirations));
		if (got < 0 && errno != EINTR) {
			load_fail(worker->context, "cannot read a timer: %s", strerror(errno));
			return;
		}
		load_count(worker->context, got > 0);
	}
}

/* load_timer - a thread for each CPU that the load is allowed on */
void load_timer(struct load_context *context)
{
	/* Static, as threads may still read it when this function has returned. */
	static struct worker_cpus cpus;

	cpus = worker_cpus_read();
	workers_run(context, cpus.count ? cpus.count : 1, expire, &cpus);
}
