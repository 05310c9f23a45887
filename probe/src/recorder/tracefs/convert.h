/* SPDX-License-Identifier: MIT */
/* One record of the kernel's buffer as an event of ours. */
#ifndef WHYLATE_RECORDER_TRACEFS_CONVERT_H
#define WHYLATE_RECORDER_TRACEFS_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "formats.h"
#include "tracefs/pages.h"
#include "recorder/event.h"

struct converted {
	struct recorder_event event; /* without seq */
	uint32_t pid;		     /* what ran there; in a switch what ran until then */
	/* CPUs for each of which there is such an event, one bit each; NULL: there is one event */
	const uint8_t *mask;
	uint32_t mask_size;
};

/* convert - make an event of a record; false: it is of no known source, or too short for it */
bool convert(const struct formats *formats, const struct page_record *record,
	     struct converted *converted);

#endif
