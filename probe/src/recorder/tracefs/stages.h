/* SPDX-License-Identifier: MIT */
/*
 * Where the time of a CPU went, and the stages of each wakeup of its measured thread, from the
 * events in their order.
 *
 * The rule: from one event to the next, all time belongs to one of: a hardware interrupt while
 * one is open; else a softirq, while the thread that runs is the one that is in it; else the idle
 * thread, the measured thread or any other. NMIs are reported at their end with how long they took,
 * which is taken from whatever they interrupted. Time in which events were lost belongs to none.
 */
#ifndef WHYLATE_RECORDER_TRACEFS_STAGES_H
#define WHYLATE_RECORDER_TRACEFS_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/engine.h"

/* A power of two. As many wakings of one thread may come between two calls of stages_publish(). */
#define WAKINGS 4096u

struct waking {
	uint64_t waking_ns;
	uint64_t timer_ns;
	uint16_t cpu; /* that it happened on */
};

/* One CPU, and the thread that is measured on it. */
struct stages_cpu {
	struct recorder_cpu *out;
	uint16_t number;

	__u64 sums[RECORDER_SUMS];
	uint64_t known_ns; /* until here is known where time went; 0: what runs is not known */
	uint64_t irq_ns;   /* when the outermost interrupt was entered */
	uint32_t irqs;	   /* interrupts that are open */
	uint32_t current;  /* pid */
	uint32_t softirq;  /* pid of the thread that is in a softirq */
	bool in_softirq;

	/* Stages that are filled but not yet published, as long as the waking may still come from
	 * another CPU's events: out->stages <= begun. */
	uint64_t begun;
	/* What woke the thread for that stage came after this. One that still could run when it
	 * left has only what came since; a sleeper may be woken by another CPU before it has left.
	 */
	uint64_t after_ns[STAGES];
	uint64_t next_after_ns;

	uint64_t first_waking, next_waking; /* numbers of those that are kept, in order of time */
	struct waking wakings[WAKINGS];
};

#define STAGES_SLOTS 2048u /* a power of two, twice the most threads */

struct stages {
	struct stages_cpu **cpus; /* by CPU number; NULL where there is none */
	uint16_t cpu_limit;
	/* CPU + 1 of each measured thread, found by its pid (open addressing). */
	struct stages_slot {
		uint32_t pid;
		uint32_t cpu;
	} slots[STAGES_SLOTS];
};

/* stages_open - start with no stage; returns 0, or an errno: ENOMEM, E2BIG for too many threads,
 * EINVAL for two on one CPU or one on a CPU that is not there. out: by CPU number, NULL where there
 * is none. */
int stages_open(struct stages *stages, struct recorder_cpu **out, uint16_t cpu_limit,
		const struct recorder_thread *threads, size_t thread_count);

/* stages_event - process the next event of a CPU. pid: what ran there */
void stages_event(struct stages *stages, struct stages_cpu *cpu, const struct recorder_event *event,
		  uint32_t pid);

/* stages_lost - drop what is open on a CPU, of which events are missing */
void stages_lost(struct stages_cpu *cpu);

/* stages_publish - publish the stages until until_ns, a time that all CPUs were read to */
void stages_publish(struct stages *stages, uint64_t until_ns);

void stages_close(struct stages *stages);

#endif
