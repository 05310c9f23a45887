/* SPDX-License-Identifier: MIT */
/* Names of threads, sent when each first occurs: they may be gone at the end. */
#ifndef WHYLATE_WORKLOADS_ACTIVATIONS_THREAD_NAMES_H
#define WHYLATE_WORKLOADS_ACTIVATIONS_THREAD_NAMES_H

#include <stdint.h>

/* Threads of which names are sent. */
#define NAMED_THREADS 4096u

struct sender;

struct thread_names {
	uint32_t named[2 * NAMED_THREADS]; /* open addressing */
	uint32_t count;
};

/* thread_names_send - send a thread's name if it was not sent yet */
void thread_names_send(struct thread_names *names, struct sender *sender, uint32_t pid);

#endif
