// SPDX-License-Identifier: MIT
/* Threads of the probe, and the CPUs that they run on. */
#ifndef WHYLATE_THREAD_H
#define WHYLATE_THREAD_H

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#define THREAD_ANY_CPU (-1)
/* As many together hold every CPU that has a number of 16 bits. */
#define THREAD_CPU_SETS (65536 / CPU_SETSIZE)

/* thread_start - start a thread, on that CPU or on THREAD_ANY_CPU; returns 0 or an errno
 *
 * Its stack is small: memory may be locked, and is then all used.
 */
int thread_start(pthread_t *thread, int cpu, void *(*body)(void *), void *argument);

/* thread_pin - keep the calling thread on one CPU; returns 0 or an errno */
int thread_pin(int cpu);

/* thread_schedule - set the calling thread's policy and priority; a child that it forks gets
 * SCHED_OTHER. Returns 0 or an errno. */
int thread_schedule(int policy, int priority);

/* thread_cpus - list the CPUs that the calling thread may run on, at most `room` of them. Isolated
 * and offline CPUs are not among them. Returns their number; 0: the kernel does not report them. */
size_t thread_cpus(uint16_t *cpus, size_t room);

#endif
