// SPDX-License-Identifier: MIT
/* How programs are loaded and attached where a section begins and ends: one struct for each way. */
#ifndef WHYLATE_SECTION_HOOKS_H
#define WHYLATE_SECTION_HOOKS_H

#include "section.h"

struct section_method {
	enum section_hook kind;
	const char *name;
	/* load - load both programs; returns 0, or an errno with the text */
	int (*load)(struct section *section, char *text);
	/* attach - run the program of the end, or of the beginning, at its place of that number,
	 * from 0; returns a descriptor, or -1 with errno */
	int (*attach)(const struct section *section, bool at_end, size_t number);
	/* count - how many places those are; NULL: 1 */
	size_t (*count)(const struct section *section, bool at_end);
};

/* The hooks for that kind of section, the cheapest first; the last is NULL. is_pair: it names where
 * it ends. */
const struct section_method *const *section_methods(enum section_kind kind, bool is_pair);

/* section_hook_counts_missed - whether the probe learns how often the kernel did not run such a
 * hook, as a kprobe within a kprobe */
bool section_hook_counts_missed(enum section_hook kind);

#endif
