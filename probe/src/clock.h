// SPDX-License-Identifier: MIT
/* The one clock of the probe: CLOCK_MONOTONIC in nanoseconds. */
#ifndef WHYLATE_CLOCK_H
#define WHYLATE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000u

static inline uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* clock_thread_ns - CPU time of the calling thread; a system call, other than clock_ns() */
static inline uint64_t clock_thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){
	    .tv_sec = (time_t)(ns / NS_PER_S),
	    .tv_nsec = (long)(ns % NS_PER_S),
	};
}

#endif
