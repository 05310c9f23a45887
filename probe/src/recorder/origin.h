/* SPDX-License-Identifier: MIT */
/* What made a thread due that is woken now: one rule for the BPF programs and for tracefs. */
#ifndef WHYLATE_RECORDER_ORIGIN_H
#define WHYLATE_RECORDER_ORIGIN_H

#include "event.h"

/* Where a CPU is as it wakes a thread. */
struct recorder_waker {
	__u64 expired_ns;   /* when the timer was due whose function runs; 0: none does */
	__u64 expired_in;   /* at so many interrupts deep it runs */
	__u64 interrupts;   /* how many deep the CPU is now */
	__u64 interrupt_ns; /* when the outermost was entered */
	__u64 softirq_ns;   /* since when its softirq waited; 0: it is in none */
};

struct recorder_due {
	__u64 due_ns;
	__u64 timer_ns; /* the interrupt or softirq that it was in; 0: in none */
	__u32 origin;
};

static inline __attribute__((always_inline)) struct recorder_due
recorder_origin(struct recorder_waker at, __u64 now)
{
	struct recorder_due due = {
	    .timer_ns = at.interrupts ? at.interrupt_ns : at.softirq_ns,
	};

	/* An interrupt within the timer's function wakes for a reason of its own. */
	if (at.expired_ns && at.expired_in == at.interrupts) {
		due.origin = ORIGIN_TIMER;
		due.due_ns = at.expired_ns;
	} else if (at.interrupts) {
		due.origin = ORIGIN_INTERRUPT;
		due.due_ns = at.interrupt_ns;
	} else if (at.softirq_ns) {
		due.origin = ORIGIN_SOFTIRQ;
		due.due_ns = at.softirq_ns;
	} else {
		due.origin = ORIGIN_THREAD;
		due.due_ns = now;
	}
	return due;
}

#endif
