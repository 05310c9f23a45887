// SPDX-License-Identifier: MIT
/* The loads of a session: started in the guardian's slots, and reported to the host. */
#ifndef WHYLATE_SESSION_LOAD_REPORTS_H
#define WHYLATE_SESSION_LOAD_REPORTS_H

#include <stddef.h>
#include <stdint.h>

#include "guardian/guardian.h"
#include "wire/send.h"

struct load_reports {
	struct sender *sender;
	struct guardian *guardian;
	struct load_range {
		size_t first; /* slot of the guardian */
		size_t count; /* 0: no such load */
	} loads[WIRE_MOST_LOADS];
	size_t slots_used; /* 0: there is no load */
	uint64_t reported_ns;
};

/* load_reports_init - start without loads, or drop all of them when they have been ended */
void load_reports_init(struct load_reports *reports, struct sender *sender,
		       struct guardian *guardian);

/* load_reports_start - start the instances of a load; returns 0, or an errno with the text */
int load_reports_start(struct load_reports *reports, const struct wire_load_start *start,
		       char *text);

/* load_reports_poll - report the work of the loads, twice a second */
void load_reports_poll(struct load_reports *reports, uint64_t now_ns);

#endif
