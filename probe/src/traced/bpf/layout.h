/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the programs at the tracepoints and the probe share: memory that is mapped, and constants.
 */
#ifndef WHYLATE_TRACED_BPF_LAYOUT_H
#define WHYLATE_TRACED_BPF_LAYOUT_H

#include "bpf/counted_layout.h"
#include "wire/constants.h"

#ifndef __BPF__
#include <linux/types.h>
#endif

/* Numbers of places in programs. */
enum traced_place {
	AT_TRACED_CPUS,
	AT_TRACED_CONFIG,
};

/* Rows of a CPU that the probe has not read yet, and groups of a CPU; powers of two. */
#define TRACED_ROWS   1024u
#define TRACED_GROUPS 512u
/* Where a group may be, from where its hash puts it. */
#define TRACED_TRIES 8u
/* In place of an address: the idle thread has the CPU, or had it. */
#define TRACED_IDLE 1u

/* Constants once the programs are loaded. */
struct traced_config {
	__u64 keep_ns;	/* a stretch of that length, or more, has a row */
	__u32 counters; /* that are read at both ends */
	__u32 reserved;
};

/* Stretches that began and ended at the same places. */
struct traced_group {
	__u64 began[2]; /* the instruction, and that of the caller; 0: not known */
	__u64 ended[2];
	__u64 stretches;
	__u64 total_ns;
	__u64 longest_ns;
	__u64 lasting; /* of keep_ns or more, */
	__u64 seen_ns; /* and these together */
};

struct traced_row {
	__u64 number; /* of the CPU's, from 1; written last */
	__u64 end_ns;
	__u64 took_ns;
	__u32 pid; /* of the thread that ended it */
	__u32 group;
	char comm[16];
	struct counted counted; /* between both ends */
};

/* A CPU. */
struct traced_cpu {
	__u64 written;
	__u64 read; /* by the probe */
	__u64 lost; /* there was no room for a row */
	__u64 stretches;
	__u64 total_ns;
	__u64 unpaired; /* ends without a beginning */
	__u64 begin_ns; /* 0: it is not disabled, as far as known */
	__u64 began[2];
	struct counted counted; /* then */
	__u32 is_on;
	__u32 reserved;
	__u64 bins[WIRE_WAIT_BINS];
	struct traced_group groups[TRACED_GROUPS]; /* the first: all for which there was no room */
	struct traced_row rows[TRACED_ROWS];
};

#endif
