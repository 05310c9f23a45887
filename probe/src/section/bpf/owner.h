/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Owners of executions: a thread, or of a pair of tracepoints whatever pairs them.
 *
 * One program at a time works on an owner: it marks it as busy, by compare-and-swap of the whole
 * word of key, marks and depth. Whoever comes meanwhile, an interrupt of the same thread or another
 * CPU with the same argument, finds it busy and counts itself as missed. The kernel keeps a program
 * from interrupting itself, but not the one at the end from interrupting the one at the beginning.
 * A place in the table that is neither busy nor in use can be taken over, by the same
 * compare-and-swap.
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

ALWAYS_INLINE bool change(struct section_owner *owner, __u64 before, __u64 after)
{
	return __sync_val_compare_and_swap(&owner->state, before, after) == before;
}

/* release - leave an owner with so many frames in use; what was written is seen before */
ALWAYS_INLINE void release(struct section_owner *owner, __u64 key, __u64 depth)
{
	__sync_lock_test_and_set(&owner->state, key << 8 | OWNER_TAKEN | depth);
}

/*
 * lock_owner - mark the owner of that key as busy; NULL: it has no place, or is_busy
 *
 * may_take: then a place that nobody uses may become its own. A place once taken is never empty
 * again, so that a search without it ends at an empty one. A word that changed since it was read is
 * read again, once: the verifier goes through every turn, and there are two of each place.
 */
ALWAYS_INLINE struct section_owner *lock_owner(__u64 key, bool may_take, bool *is_busy)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < 2 * SECTION_TRIES; i++) {
		struct section_owner *owner = owner_at(key, i / 2);
		__u64 before;

		if (!owner)
			return 0;
		before = *(volatile __u64 *)&owner->state;
		if (before & OWNER_TAKEN && before >> 8 == key) {
			if (!(before & OWNER_BUSY) && change(owner, before, before | OWNER_BUSY))
				return owner;
			/* Or others work on it all the time: a key has no second place. */
			if (before & OWNER_BUSY || i & 1) {
				*is_busy = 1;
				return 0;
			}
		} else if (!may_take && !before) {
			return 0;
		} else if (!may_take || before & (OWNER_BUSY | OWNER_DEPTH)) {
			/* The next place. */
			i |= 1;
		} else if (change(owner, before, key << 8 | OWNER_TAKEN | OWNER_BUSY)) {
			return owner;
		}
	}
	return 0;
}

/* find_owner - the owner of that key as it is, NULL: it has no place */
ALWAYS_INLINE struct section_owner *find_owner(__u64 key)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SECTION_TRIES; i++) {
		struct section_owner *owner = owner_at(key, i);
		__u64 state;

		if (!owner)
			return 0;
		state = *(volatile __u64 *)&owner->state;
		if (!state)
			return 0;
		if (state >> 8 == key)
			return owner;
	}
	return 0;
}

/* place_of - where on the stack, as a number: a pointer becomes one through memory */
ALWAYS_INLINE __u64 place_of(__u64 *through, void *place, __u64 number)
{
	if (!place)
		return number;
	*(void *volatile *)through = place;
	barrier();
	return *(volatile __u64 *)through;
}

ALWAYS_INLINE struct section_frame *frame_at(struct section_owner *owner, __u64 number)
{
	return &owner->frames[number & (SECTION_DEEPEST - 1)];
}

#endif
