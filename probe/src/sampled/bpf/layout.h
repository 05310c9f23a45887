/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the program of the samples and the probe share: memory that is mapped, and constants. */
#ifndef WHYLATE_SAMPLED_BPF_LAYOUT_H
#define WHYLATE_SAMPLED_BPF_LAYOUT_H

#include "bpf/counted_layout.h"
#include "wire/constants.h"

#ifndef __BPF__
#include <linux/types.h>
#endif

/* Numbers of places in programs. */
enum sampled_place {
	AT_SAMPLED_CPUS,
	AT_SAMPLED_CONFIG,
};

/* Rows of a CPU that the probe has not read yet; a power of two. */
#define SAMPLED_ROWS 2048u
/* Callers of the place that was sampled, the innermost first; 0 ends them. */
#define SAMPLED_CALLERS 24u
/* Bytes of code before the sampled instruction that are looked at. */
#define SAMPLED_CODE 16u
/* Flags of a row. */
#define SAMPLED_LATE	  1u /* by more than limit_ns */
#define SAMPLED_CANDIDATE 2u /* an instruction before it may have enabled interrupts */
#define SAMPLED_USER	  4u /* the CPU ran a program */
#define SAMPLED_COUNTED	  8u /* preemption was disabled, by the kernel's count */

/* What the samples are for. */
#define SAMPLED_INTERRUPTS 0
#define SAMPLED_PREEMPTION 1
#define SAMPLED_CALIBRATE  2 /* every sample has a row, and no callers */

#define SAMPLED_X86   0
#define SAMPLED_ARM64 1
#define SAMPLED_ARM   2 /* 32 bits, where no program of BPF does it */
#define SAMPLED_RISCV 3 /* 64 bits */

/* Constants once the program is loaded. */
struct sampled_config {
	__u64 period_ns;
	__u32 machine;	/* SAMPLED_X86, SAMPLED_ARM64, SAMPLED_RISCV */
	__u32 counters; /* that are read at each sample */
};

/* A sample that is kept. */
struct sampled_row {
	__u64 number; /* of the CPU's, from 1; written last */
	__u64 time_ns;
	__u64 late_ns; /* since the point of the grid for which its interrupt was due */
	__u64 due_ns;  /* that point */
	__u64 address; /* of the next instruction */
	__u32 pid;
	__u32 flags;
	__u32 count; /* of what disables preemption */
	__u32 reserved;
	char comm[16];
	__u8 code[SAMPLED_CODE]; /* before the address */
	__u64 callers[SAMPLED_CALLERS];
	struct counted counted; /* since that of the CPU */
};

/* A CPU. */
struct sampled_cpu {
	__u64 written;
	__u64 read; /* by the probe */
	__u64 lost; /* there was no room */
	__u64 samples;
	__u64 due_ns; /* of the timer that expired last */
	__u64 limit_ns;
	__u64 count_address; /* where its count of what disables preemption is; 0: in the task */
	__u32 count_base;    /* of it, what the sample's own interrupt adds */
	__u32 purpose;	     /* SAMPLED_INTERRUPTS, … */
	/* When interrupts were last seen to be enabled, or of preemption at the last sample */
	struct counted counted;
	struct sampled_row rows[SAMPLED_ROWS];
};

#endif
