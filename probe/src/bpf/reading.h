/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a program reads of a counter: struct bpf_perf_event_value of linux/bpf.h. */
#ifndef WHYLATE_BPF_READING_H
#define WHYLATE_BPF_READING_H

#include "kernel.h"

struct reading {
	__u64 counter;
	__u64 enabled;
	__u64 running;
};

static long (*const bpf_perf_event_read_value)(void *map, __u64 flags, struct reading *to,
					       __u32 size) = (void *)55;

#endif
