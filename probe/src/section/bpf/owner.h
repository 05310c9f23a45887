/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Owners of executions: a thread, or of a pair of tracepoints whatever pairs them.
 *
 * The owner's word of key and depth changes from depth 0 by compare-and-swap alone, so that a place
 * in the table which is not in use can be taken over. At other depths it is its owner's, whose
 * interrupts leave it as they found it.
 */
#ifndef WHYLATE_SECTION_BPF_OWNER_H
#define WHYLATE_SECTION_BPF_OWNER_H

#include "bpf/kernel.h"
#include "layout.h"

const volatile struct section_config wanted SECTION(".rodata") = {};

/* Maps: of struct section_cpu with its rows, and of struct section_owner. */
char section_cpus SECTION("maps");
char section_owners SECTION("maps");

static long (*const bpf_get_current_comm)(void *to, __u32 size) = (void *)16;
static __u32 (*const bpf_get_prandom_u32)(void) = (void *)7;

/* Keys of threads are 1 + their pid; the idle threads, which all have pid 0, and CPUs follow. */
#define KEY_OF_CPU (1ull + WIRE_HIGHEST_PID + 1)
/* The same stack, at most 16 KiB: addresses on different ones say nothing of who began first. */
#define STACK_BITS 14

ALWAYS_INLINE struct section_cpu *cpu_here(void)
{
	__u32 number = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&section_cpus, &number);
}

ALWAYS_INLINE void count(__u64 *counter, __u64 by)
{
	__sync_fetch_and_add(counter, by);
}

/* is_wanted - whether executions of the running thread are measured */
ALWAYS_INLINE bool is_wanted(__u64 pid_tgid)
{
	__u64 comm[2] = {};

	if (wanted.tgid && wanted.tgid != pid_tgid >> 32)
		return 0;
	if (!wanted.has_comm)
		return 1;
	bpf_get_current_comm(comm, sizeof(comm));
	return comm[0] == *(volatile __u64 *)&wanted.comm[0] &&
	       comm[1] == *(volatile __u64 *)&wanted.comm[8];
}

ALWAYS_INLINE __u64 thread_key(__u64 pid_tgid)
{
	__u32 pid = pid_tgid;

	return pid ? 1ull + pid : KEY_OF_CPU + bpf_get_smp_processor_id();
}

ALWAYS_INLINE struct section_owner *owner_at(__u64 key, __u32 number)
{
	__u32 index = (key * 0x9E3779B97F4A7C15ull >> (64 - SECTION_OWNERS_BITS)) + number;

	index &= SECTION_OWNERS - 1;
	return bpf_map_lookup_elem(&section_owners, &index);
}

/* find_owner - the owner of that key, NULL: it has no place. A place once taken is never empty
 * again, so that the search ends at an empty one. */
ALWAYS_INLINE struct section_owner *find_owner(__u64 key)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SECTION_TRIES; i++) {
		struct section_owner *owner = owner_at(key, i);

		if (!owner || !owner->key_depth)
			return 0;
		if (owner->key_depth >> 8 == key)
			return owner;
	}
	return 0;
}

/* take_place - take a place in the table that nobody uses, with a depth of 1; NULL: there is none
 */
ALWAYS_INLINE struct section_owner *take_place(__u64 key)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SECTION_TRIES; i++) {
		struct section_owner *owner = owner_at(key, i);
		__u64 before;

		if (!owner)
			return 0;
		before = owner->key_depth;
		if (!(before & 0xff) &&
		    __sync_val_compare_and_swap(&owner->key_depth, before, key << 8 | 1) == before)
			return owner;
	}
	return 0;
}

ALWAYS_INLINE struct section_frame *frame_at(struct section_owner *owner, __u64 number)
{
	return &owner->frames[number & (SECTION_DEEPEST - 1)];
}

#endif
