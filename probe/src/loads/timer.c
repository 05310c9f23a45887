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
#include <unistd.h>

#include "clock.h"
#include "kinds.h"
#include "thread.h"
#include "workers.h"

#define TIMERS 8
/* Expirations a second: of one CPU, and of all together. */
#define MOST_PER_CPU  10000
#define MOST_TOGETHER 20000

/* arm - start TIMERS periodic timers, of which one expires every step_ns; 0, or -1 with errno */
static int arm(int timers[TIMERS], uint64_t step_ns)
{
	uint64_t first_ns = clock_ns() + NS_PER_MS;

	for (uint64_t i = 0; i < TIMERS; i++) {
		struct itimerspec when = {
		    .it_value = clock_timespec(first_ns + i * step_ns),
		    .it_interval = clock_timespec(TIMERS * step_ns),
		};
		timers[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		if (timers[i] < 0 || timerfd_settime(timers[i], TFD_TIMER_ABSTIME, &when, NULL))
			return -1;
	}
	return 0;
}

/* expire - wait for one timer after the other until killed */
static void expire(const struct worker *worker)
{
	const struct worker_cpus *cpus = worker->shared;
	uint64_t per_cpu = MOST_TOGETHER / (cpus->count ? cpus->count : 1);
	int timers[TIMERS];
	uint64_t expirations;

	if (cpus->count)
		thread_pin(cpus->id[worker->index]);
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

void load_timer(struct load_context *context)
{
	/* Static, as threads may still read it when this function has returned. */
	static struct worker_cpus cpus;

	cpus.count = thread_cpus(cpus.id, WORKERS_MAX_CPUS);
	workers_run(context, cpus.count ? cpus.count : 1, expire, &cpus);
}
