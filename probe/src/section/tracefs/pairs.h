/* SPDX-License-Identifier: MIT */
/*
 * Pairing beginnings and ends of executions, which come in the order of time.
 *
 * It is what the programs do at once (section/bpf/execution.h), with the same counters and rows. A
 * return belongs to the innermost execution of its thread that began at that place on the stack;
 * where the kernel does not tell the place of a return, that was called from there.
 */
#ifndef WHYLATE_SECTION_TRACEFS_PAIRS_H
#define WHYLATE_SECTION_TRACEFS_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "section/bpf/layout.h"

/* Executions of an owner that are followed, SECTION_DEEPEST of them with a duration. */
#define PAIR_FRAMES 24u

/* A beginning or an end. */
struct pair_event {
	uint64_t time_ns;
	uint64_t key;
	uint64_t place;	 /* on the stack; 0: not known */
	uint64_t caller; /* where it returns to; 0: not known */
	uint32_t pid;
	uint16_t cpu;
};

struct pair_frame {
	uint64_t place;
	uint64_t caller;
	uint64_t begin_ns;
	uint16_t cpu;
	bool is_drawn;
	bool is_refused; /* it has no duration: too deep, or not within the time that counts */
};

struct pair_owner {
	uint64_t key;	 /* 0: nobody had this place yet */
	uint32_t depth;	 /* frames in use, */
	uint32_t deeper; /* and executions within them that have none */
	bool has_ended;	 /* it is a thread that ends: what does not return now is left */
	struct pair_frame frames[PAIR_FRAMES];
};

struct pairs {
	struct section_cpu *(*cpu_at)(void *context, uint16_t cpu);
	void *context;
	uint64_t row_mask;
	uint64_t open_ns, close_ns; /* executions count that begin then */
	uint64_t ambiguous;	    /* ends that several open executions may have had */
	uint64_t random;
	struct pair_owner *owners; /* SECTION_OWNERS */
};

/* pairs_open - allocate; cpu_at: of a CPU's counters, with its rows behind them. false: there is no
 * memory */
bool pairs_open(struct pairs *pairs, struct section_cpu *(*cpu_at)(void *context, uint16_t cpu),
		void *context, uint64_t row_mask);
void pairs_close(struct pairs *pairs);

void pairs_begin(struct pairs *pairs, const struct pair_event *event);

/* pairs_end - is_counted: whether one without its beginning is */
void pairs_end(struct pairs *pairs, const struct pair_event *event, bool is_counted);

/* pairs_lose - events were lost: nothing is known of the executions that have begun. They count as
 * left, on that CPU. */
void pairs_lose(struct pairs *pairs, uint16_t cpu);

/* pairs_leave - what an owner has begun does not return: it counts as left, on that CPU */
void pairs_leave(struct pairs *pairs, uint64_t key, uint16_t cpu);

/* pairs_let_go - a thread ends, in code that may be of the section: what it has begun, or begins,
 * may return, and its place is another's where that needs one */
void pairs_let_go(struct pairs *pairs, uint64_t key, uint16_t cpu);

/* pairs_follow - what an owner has begun goes on, and it has another key from now on. What that had
 * counts as left, on that CPU. */
void pairs_follow(struct pairs *pairs, uint64_t before, uint64_t now, uint16_t cpu);

/* pairs_forget - forget all executions */
void pairs_forget(struct pairs *pairs);

/* pairs_in_flight - how many have begun and not ended; of threads that have_ended, or others */
uint64_t pairs_in_flight(const struct pairs *pairs, bool have_ended);

#endif
