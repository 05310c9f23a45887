/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the counters of a CPU had at a time, or counted between two. */
#ifndef WHYLATE_BPF_COUNTED_LAYOUT_H
#define WHYLATE_BPF_COUNTED_LAYOUT_H

#include "wire/constants.h"

#ifndef __BPF__
#include <linux/types.h>
#endif

/* The place of the map of counters in programs. */
#define AT_OFF_EVENTS 2

struct counted {
	__u64 time_ns;	 /* 0: nothing is known */
	__u64 paused_ns; /* all counters together were not on the CPU for so long */
	__u64 values[WIRE_MOST_OFF_COUNTS];
};

#endif
