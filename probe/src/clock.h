// SPDX-License-Identifier: MIT
/* The clock of the probe, CLOCK_MONOTONIC, and times as nanoseconds. */
#ifndef WHYLATE_CLOCK_H
#define WHYLATE_CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define NS_PER_S  1000000000u
#define NS_PER_MS 1000000u

static inline uint64_t clock_timespec_ns(struct timespec time)
{
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static inline uint64_t clock_timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000u;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){
	    .tv_sec = (time_t)(ns / NS_PER_S),
	    .tv_nsec = (long)(ns % NS_PER_S),
	};
}

static inline uint64_t clock_id_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return clock_timespec_ns(now);
}

static inline uint64_t clock_ns(void)
{
	return clock_id_ns(CLOCK_MONOTONIC);
}

/* clock_thread_ns - CPU time of the calling thread; a system call, other than clock_ns() */
static inline uint64_t clock_thread_ns(void)
{
	return clock_id_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* clock_sleep_until - sleep until an absolute time, whatever signals arrive */
static inline void clock_sleep_until(uint64_t due_ns)
{
	struct timespec due = clock_timespec(due_ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
		;
}

#endif
