/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How an execution begins and ends.
 *
 * An owner has the executions that it began and has not ended. Where it is on the stack tells which
 * execution of a function ends: the stack pointer, or the frame of the trampoline that calls both
 * programs. So executions within others, and those that were left without a return, are what they
 * are.
 */
#ifndef WHYLATE_SECTION_BPF_EXECUTION_H
#define WHYLATE_SECTION_BPF_EXECUTION_H

#include "counts.h"
#include "owner.h"

/*
 * begin - an execution begins; place: a pointer, or a number, that says where on the stack
 *
 * An interrupt may begin and end executions of the same owner at any instruction. So the frame is
 * taken first, by the depth, and filled then.
 */
ALWAYS_INLINE void begin(__u64 key, void *place, __u64 number)
{
	struct section_cpu *cpu = cpu_here();
	struct section_frame *frame;
	struct section_owner *owner;
	__u64 depth = 0, here;

	if (!cpu)
		return;
	count(&cpu->entries, 1);
	owner = find_owner(key);
	if (owner)
		depth = owner->key_depth & 0xff;
	if (owner && !depth) {
		owner->left_ns = 0;
		owner->lock_ns = 0;
	}
	if (owner && depth) {
		if (number == 0 && !place) {
			/* Of one key only one has begun: the former did not end. */
			count(&cpu->left, depth);
			depth = 0;
		}
		if (depth >= SECTION_DEEPEST) {
			count(&cpu->too_deep, 1);
			return;
		}
		owner->key_depth = key << 8 | (depth + 1);
	} else if (!owner || __sync_val_compare_and_swap(&owner->key_depth, key << 8,
							 key << 8 | 1) != key << 8) {
		owner = take_place(key);
		if (!owner) {
			count(&cpu->no_room, 1);
			return;
		}
		owner->left_ns = 0;
		owner->lock_ns = 0;
	}
	barrier();
	frame = frame_at(owner, depth);
	/* Through memory a pointer becomes a number. */
	if (place)
		*(void *volatile *)&frame->place = place;
	else
		frame->place = number;
	barrier();
	here = *(volatile __u64 *)&frame->place;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SECTION_DEEPEST; i++) {
		struct section_frame *below = frame_at(owner, depth - 1);

		/* The stack grows downwards: what began below here has been left. */
		if (likely(!depth) || !here || below->place >> STACK_BITS != here >> STACK_BITS ||
		    below->place > here)
			break;
		depth--;
		count(&cpu->left, 1);
		below->place = here;
		owner->key_depth = key << 8 | (depth + 1);
		frame = below;
	}
	frame->cpu = bpf_get_smp_processor_id();
	frame->level = cpu->level;
	frame->parts = owner->parts;
	frame->is_drawn = cpu->one_in < 2 || bpf_get_prandom_u32() % (__u32)cpu->one_in == 0;
	if (wanted.counter_count) {
		frame->switches = owner->switches;
		read_counts(&frame->counts);
	}
	/* Last, so that what it took to begin is no part of the duration. */
	frame->begin_ns = bpf_ktime_get_ns();
	/* An interrupt that ended meanwhile is none of it either. */
	if (unlikely(owner->parts.interrupted_ns != frame->parts.interrupted_ns) &&
	    owner->interrupt_ns <= frame->begin_ns) {
		frame->parts.interrupted_ns = owner->parts.interrupted_ns;
		/* Its counts may be in. */
		if (wanted.counter_count)
			frame->counts.paused_ns = SECTION_REFUSED;
	}
}

/* bin_of - the bin of a duration: see block waits of the wire */
ALWAYS_INLINE __u32 bin_of(__u64 ns)
{
	__u32 octave = 0, bin;
	__u64 rest = ns;

	if (ns < 16)
		return ns;
#pragma clang loop unroll(full)
	for (int bits = 32; bits; bits /= 2)
		if (rest >> bits) {
			rest >>= bits;
			octave += bits;
		}
	bin = (octave - 3) * 16 + (ns >> (octave - 4) & 15);
	return bin < WIRE_WAIT_BINS ? bin : WIRE_WAIT_BINS - 1;
}

ALWAYS_INLINE void keep(struct section_cpu *cpu, const struct section_owner *owner,
			const struct section_frame *frame, __u64 now, __u64 pid_tgid,
			bool has_moved, struct section_counts *ended)
{
	struct section_row *row = (void *)(cpu + 1);
	__u64 number = __sync_fetch_and_add(&cpu->rows, 1);

	row += number & wanted.row_mask;
	row->number = 0;
	barrier();
	row->begin_ns = frame->begin_ns;
	row->duration_ns = now - frame->begin_ns;
	row->parts.interrupted_ns = owner->parts.interrupted_ns - frame->parts.interrupted_ns;
	row->parts.preempted_ns = owner->parts.preempted_ns - frame->parts.preempted_ns;
	row->parts.slept_ns = owner->parts.slept_ns - frame->parts.slept_ns;
	row->parts.lock_ns = owner->parts.lock_ns - frame->parts.lock_ns;
	row->parts.faults = owner->parts.faults - frame->parts.faults;
	/* An interrupt that came after the end was read is none of it; nor are several of them. */
	if (unlikely(owner->interrupt_ns > now)) {
		__u64 others_ns =
		    row->parts.preempted_ns + row->parts.slept_ns + row->parts.lock_ns;

		row->parts.interrupted_ns -=
		    min(owner->interrupt_took_ns, row->parts.interrupted_ns);
		if (others_ns + row->parts.interrupted_ns > row->duration_ns)
			row->parts.interrupted_ns =
			    row->duration_ns - min(others_ns, row->duration_ns);
		if (wanted.counter_count)
			ended->paused_ns = SECTION_REFUSED;
	}
	row->pid = pid_tgid;
	row->begin_cpu = frame->cpu;
	row->flags = (frame->is_drawn ? EXECUTION_DRAWN : 0) | (has_moved ? EXECUTION_MOVED : 0);
	if (wanted.counter_count)
		keep_counts(row, &frame->counts, ended,
			    has_moved || owner->switches != frame->switches);
	barrier();
	row->number = number + 1;
}

/* end - an execution ends, as begin() has it; now: when */
ALWAYS_INLINE void end(__u64 key, void *place, __u64 number, __u64 now, __u64 pid_tgid)
{
	struct section_cpu *cpu = cpu_here();
	struct section_owner *owner = find_owner(key);
	struct section_frame *frame = 0;
	struct section_counts ended;
	__u64 depth, top;
	__u32 bin;

	/* In memory throughout, of which nothing is read where nothing is counted. */
	escape(&ended);
	if (wanted.counter_count)
		read_counts(&ended);
	if (!cpu)
		return;
	depth = top = owner ? owner->key_depth & 0xff : 0;
	if (!owner || !depth) {
		count(&cpu->unmatched, 1);
		return;
	}
	if (place) {
		frame = frame_at(owner, depth - 1);
		*(void *volatile *)&frame->place_at_return = place;
		barrier();
		number = *(volatile __u64 *)&frame->place_at_return;
	}
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SECTION_DEEPEST; i++) {
		if (!depth) {
			count(&cpu->unmatched, 1);
			return;
		}
		depth--;
		frame = frame_at(owner, depth);
		if (likely(frame->place == number))
			break;
	}
	if (frame->place != number) {
		count(&cpu->unmatched, 1);
		return;
	}
	if (top - depth > 1)
		count(&cpu->left, top - depth - 1);
	bin = bin_of(now - frame->begin_ns);
	/* The compiler knows that it is in bounds, the verifier does not. */
	opaque(bin);
	if (bin < WIRE_WAIT_BINS)
		count(&cpu->bins[bin], 1);
	if (frame->is_drawn || (cpu->above_ns && now - frame->begin_ns > cpu->above_ns))
		keep(cpu, owner, frame, now, pid_tgid, frame->cpu != bpf_get_smp_processor_id(),
		     &ended);
	barrier();
	owner->key_depth = key << 8 | depth;
}

#endif
