// SPDX-License-Identifier: MIT
/* From the command that starts a section to the plan of it. */
#ifndef WHYLATE_WORKLOADS_SECTION_PLAN_H
#define WHYLATE_WORKLOADS_SECTION_PLAN_H

#include "section/section.h"
#include "wire/messages.h"

/* The longest name of an argument, with its end. */
#define SECTION_ARGUMENT 64

/* What a plan points to. */
struct section_names {
	char begin[WIRE_LONGEST_PLACE + 1];
	char end[WIRE_LONGEST_PLACE + 1];
	char file[WIRE_LONGEST_PLACE + 1];
	char arguments[2 + SECTION_CONDITIONS][SECTION_ARGUMENT];
};

/* section_plan_take - check the command, and make the plan; returns 0, or an errno with the text */
int section_plan_take(struct section_names *names, const struct wire_section *asked,
		      struct section_plan *plan, char *text);

#endif
