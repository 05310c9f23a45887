/* SPDX-License-Identifier: MIT */
/* From pages of the kernel's buffers to our rings, in one pass. */
#ifndef WHYLATE_RECORDER_TRACEFS_GATHER_H
#define WHYLATE_RECORDER_TRACEFS_GATHER_H

#include <stddef.h>
#include <stdint.h>

#include "formats.h"
#include "recorder/engine.h"
#include "stages.h"
#include "watch.h"

struct gather {
	struct recorder *recorder; /* whose rings are filled */
	struct formats formats;
	struct stages stages;
	struct watch *watch; /* NULL where no program is watched */
	uint64_t *last_ns;   /* of the last event, by CPU number */
};

/* gather_page - process all of one page. now_ns: a time after all that can be in it. What cannot be
 * understood is counted in the CPU's `missed`. */
void gather_page(struct gather *gather, uint16_t cpu, const uint8_t *bytes, size_t size,
		 uint64_t now_ns);

#endif
