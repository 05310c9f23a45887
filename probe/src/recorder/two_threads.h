// SPDX-License-Identifier: MIT
/* Two threads that wake each other on one CPU: two switches and two wakings each time. */
#ifndef WHYLATE_RECORDER_TWO_THREADS_H
#define WHYLATE_RECORDER_TWO_THREADS_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

struct two_threads {
	pthread_t other;
	sem_t ping, pong;
	_Atomic bool ended;
	cpu_set_t before; /* where the calling thread may run otherwise */
	int cpu;	  /* where both are now */
};

/* two_threads_begin - bind the calling thread to its CPU and start the other there; 0 or an errno
 */
int two_threads_begin(struct two_threads *two);

/* two_threads_wake - this many times there and back; returns the CPU time that it took, ns */
uint64_t two_threads_wake(struct two_threads *two, unsigned times);

/* two_threads_end - end the other thread; the calling one may run where it could before */
void two_threads_end(struct two_threads *two);

#endif
