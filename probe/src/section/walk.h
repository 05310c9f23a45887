// SPDX-License-Identifier: MIT
/*
 * Running through other code, or touching other pages, before executions that are treated.
 *
 * No BPF program can: it runs no code but its own, and its memory lies in large pages. A thread of
 * the probe on each CPU does, and the next execution that begins there is of its arm. The placebo
 * calls one function as often, or reads as many lines in few pages.
 */
#ifndef WHYLATE_SECTION_WALK_H
#define WHYLATE_SECTION_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "section/armer.h"

struct section_walk {
	enum section_treatment treatment;
	char *area; /* NULL: nothing is planned */
	/* What is read by a check, and by the placebo: see walk.c */
	char *check, *others;
	uint32_t count; /* calls, or lines that are read */
	struct armer *armers;
	size_t armer_count;
};

/* walk_plan - make what is walked over; returns 0, or an errno with the text */
int walk_plan(struct section_walk *walk, enum section_treatment treatment, char *text);

/* walk_start - walk on a CPU from now on; most: as many CPUs there are at most. Returns 0, also
 * where that CPU is not online, or an errno with the text */
int walk_start(struct section_walk *walk, struct section_cpu *cpu, uint16_t number, size_t most,
	       char *text);

/* walk_stop - end that, where it was started; no execution is drawn any more */
void walk_stop(struct section_walk *walk);

/* walk_close - give back what walk_plan() took; may be called of what is all 0 */
void walk_close(struct section_walk *walk);

#endif
