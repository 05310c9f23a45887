// SPDX-License-Identifier: MIT
/* The loads of a session: started in the guardian's slots, and reported to the host. */
#ifndef WHYLATE_SESSION_LOAD_REPORTS_H
#define WHYLATE_SESSION_LOAD_REPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guardian/guardian.h"
#include "wire/send.h"

struct load_reports {
	struct sender *sender;
	struct guardian *guardian;
	struct load_range {
		size_t first; /* slot of the guardian's */
		size_t count; /* 0: no such load */
	} loads[WIRE_MOST_LOADS];
	size_t slots_used;
	uint64_t reported_ns;
};

void load_reports_init(struct load_reports *reports, struct sender *sender,
		       struct guardian *guardian);

/* load_reports_start - start the instances of a load. Returns 0, or an errno with one line in text
 * (GUARDIAN_MESSAGE bytes). */
int load_reports_start(struct load_reports *reports, const struct wire_load_start *start,
		       char *text);

/* load_reports_clear - drop all loads, which have been ended */
void load_reports_clear(struct load_reports *reports);

/* load_reports_any - whether there is a load */
bool load_reports_any(const struct load_reports *reports);

/* load_reports_poll - report the work of the loads, twice a second */
void load_reports_poll(struct load_reports *reports, uint64_t now_ns);

#endif
