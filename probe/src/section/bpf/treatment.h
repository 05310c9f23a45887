/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which executions are kept, and what an experiment does before them.
 *
 * Each execution that is drawn is treated or a placebo, by chance. Both read as often, by the same
 * instructions: what is treated reads other lines each time, and the placebo the first one again
 * and again, which is in the cache. So they differ by what was brought there, or driven out.
 * Flushing is done by the probe (section/flush.h), and so is running through other code or touching
 * other pages (section/walk.h): it draws the next execution by it.
 */
#ifndef WHYLATE_SECTION_BPF_TREATMENT_H
#define WHYLATE_SECTION_BPF_TREATMENT_H

#include "bpf/bin.h"
#include "owner.h"

#define PAGE_BYTES 4096u
#define ARM_FLAGS  (EXECUTION_TREATED | EXECUTION_PLACEBO)

/* A map of WALK_BYTES, where they are walked over. */
char section_walk SECTION("maps");

static long (*const bpf_probe_read_user)(void *to, __u32 size, const void *from) = (void *)112;

/* What is known of an execution before it begins. */
struct draw {
	__u32 flags; /* enum execution_flag */
	__u32 failed;
	__u64 took_ns; /* to read */
};

/*
 * walk - read one word of each line of as much memory as there are reads for, or of one page
 *
 * mask: of what is added to the address. The verifier looks at it once, for any mask.
 */
FUNCTION int walk(__u32 mask)
{
	__u32 zero = 0;
	const char *area = bpf_map_lookup_elem(&section_walk, &zero);

	if (!area || wanted.treatment != TREATMENT_COLD)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 at = 0; at < WALK_BYTES; at += PAGE_BYTES) {
		const char *page = area + (at & mask & (WALK_BYTES - PAGE_BYTES));

#pragma clang loop unroll(full)
		for (__u32 line = 0; line < PAGE_BYTES; line += WALK_LINE_BYTES)
			*(const volatile __u64 *)(page + line);
	}
	return 1;
}

/* read_code - read one word at every so many bytes of code; returns how many reads failed */
FUNCTION int read_code(__u64 code, __u64 stride)
{
	__u64 failed = 0;

	if (wanted.treatment != TREATMENT_PREFETCH)
		return 0;
	code -= code % WALK_LINE_BYTES;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < CODE_READS_MOST; i++) {
		const void *from = (const void *)code;
		__u64 word, error;

		if (i >= wanted.treatment_reads)
			break;
		/* Kernel and user may have the same addresses. */
		error = wanted.code_address ? bpf_probe_read_kernel(&word, sizeof(word), from)
					    : bpf_probe_read_user(&word, sizeof(word), from);
		/* Without a branch, whose ways would be followed apart. */
		failed += error >> 63;
		code += stride;
	}
	return failed;
}

/* draw_armed - draw the execution that begins, if none has begun since the last flush or walk */
ALWAYS_INLINE void draw_armed(struct section_cpu *cpu, struct draw *drawn)
{
	__u32 zero = 0;
	struct section_cpu *armed_by = cpu;
	__u64 armed;

	/* Caches are flushed for all CPUs. */
	if (wanted.treatment == TREATMENT_FLUSH)
		armed_by = bpf_map_lookup_elem(&section_cpus, &zero);
	/* Between two walks what walks executes parts of the kernel, too. */
	else if (bpf_get_current_pid_tgid() >> 32 == wanted.walking)
		return;
	armed = armed_by ? *(volatile __u64 *)&armed_by->armed : 0;
	if (armed && __sync_val_compare_and_swap(&armed_by->armed, armed, 0) == armed)
		drawn->flags = EXECUTION_DRAWN | (armed & ARM_FLAGS);
}

/*
 * draw - choose whether an execution is kept, and treat it; code: where its own begins, in user
 * code
 *
 * Before it begins, so that neither depends on how long it takes.
 */
ALWAYS_INLINE void draw(struct section_cpu *cpu, __u64 code, struct draw *drawn)
{
	__u64 began_ns;
	bool is_treated;

	if (wanted.treatment >= TREATMENT_FLUSH) {
		draw_armed(cpu, drawn);
		return;
	}
	if (cpu->one_in > 1 && bpf_get_prandom_u32() % (__u32)cpu->one_in)
		return;
	drawn->flags = EXECUTION_DRAWN;
	if (!wanted.treatment)
		return;
	is_treated = bpf_get_prandom_u32() & 1;
	drawn->flags |= is_treated ? EXECUTION_TREATED : EXECUTION_PLACEBO;
	began_ns = bpf_ktime_get_ns();
	if (wanted.treatment == TREATMENT_COLD)
		walk(is_treated ? WALK_BYTES - PAGE_BYTES : 0);
	else
		drawn->failed = read_code(wanted.code_address ? wanted.code_address : code,
					  is_treated ? WALK_LINE_BYTES : 0);
	drawn->took_ns = bpf_ktime_get_ns() - began_ns;
}

/* arm_of - the arm of an execution of an experiment */
ALWAYS_INLINE struct section_arm *arm_of(struct section_cpu *cpu, __u32 flags)
{
	return flags & EXECUTION_TREATED ? &cpu->arms[1] : &cpu->arms[0];
}

/* count_entry - count an execution that begins in its arm */
ALWAYS_INLINE void count_entry(struct section_cpu *cpu, const struct draw *drawn)
{
	struct section_arm *arm = arm_of(cpu, drawn->flags);
	__u32 bin = bin_of(drawn->took_ns);

	count(&arm->entries, 1);
	if (drawn->failed)
		count(&arm->failed, drawn->failed);
	opaque(bin);
	/* What a flush or a walk does is known apart from executions. */
	if (wanted.treatment < TREATMENT_FLUSH && bin < WIRE_WAIT_BINS)
		count(&arm->bins[bin], 1);
}

#endif
