// SPDX-License-Identifier: MIT
/*
 * The floor: how long an empty section seems to take, and what its hooks add to the code that runs
 * it, measured on this board with the same hook.
 */
#ifndef WHYLATE_SECTION_FLOOR_H
#define WHYLATE_SECTION_FLOOR_H

#include <stdint.h>

#include "section.h"

struct section_floor {
	uint32_t executions;
	uint64_t floor_ns;   /* the median */
	uint64_t with_ns;    /* the median call of empty code with hooks, and without, */
	uint64_t without_ns; /* in blocks that take turns; 0: not measured */
	/* Where events are counted: of so many executions that have counts the median of each. */
	uint32_t counted;
	uint64_t counts[WIRE_MOST_EXECUTION_COUNTS];
};

/* floor_measure - measure it for a section's hook; by_turns: with hooks and without. Returns 0, or
 * an errno with the text. */
int floor_measure(const struct section *section, bool by_turns, struct section_floor *floor,
		  char *text);

/* floor_of_hook - try a hook, and measure it by turns where it has an empty section; returns 0, or
 * an errno with the text where it does not work here */
int floor_of_hook(enum section_kind kind, enum section_hook hook, struct section_floor *floor,
		  char *text);

#endif
