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

#include "mark.h"
#include "owner.h"
#include "path.h"
#include "treatment.h"

/*
 * drop_left - drop the frames whose code has been left without a return; returns how many remain
 *
 * The stack grows downwards: what began on the same stack, and not above here, has been left. Those
 * on other stacks remain: an interrupt's can lie between two of its thread. Of a pair of
 * tracepoints only one has begun: the former did not end.
 */
ALWAYS_INLINE __u64 drop_left(struct section_cpu *cpu, struct section_owner *owner, __u64 depth,
			      __u64 here)
{
	__u64 remain = 0;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SECTION_DEEPEST; i++) {
		struct section_frame *frame = frame_at(owner, i);

		if (i >= depth)
			break;
		if (!here ||
		    (frame->place >> STACK_BITS == here >> STACK_BITS && frame->place <= here))
			continue;
		if (remain != i)
			*frame_at(owner, remain) = *frame;
		remain++;
	}
	count(&cpu->left, depth - remain);
	return remain;
}

/* begin - an execution begins; place: a pointer, or a number, that says where on the stack; code:
 * where its code begins, in user code */
ALWAYS_INLINE void begin(__u64 key, void *place, __u64 number, __u64 code)
{
	struct section_cpu *cpu = cpu_here();
	struct section_frame *frame;
	struct section_owner *owner;
	__u64 depth, here;
	bool is_busy = 0, is_closed;
	struct draw drawn = {};

	if (!cpu)
		return;
	/* The hooks may be what keeps the probe from running. */
	if (unlikely(cpu->limit && cpu->entries >= cpu->limit))
		cpu->is_closed = 1;
	is_closed = cpu->is_closed;
	if (!is_closed)
		draw(cpu, code, &drawn);
	owner = lock_owner(key, 0, &is_busy);
	if (!owner && !is_busy && !is_closed)
		owner = lock_owner(key, 1, &is_busy);
	if (!owner && is_closed)
		return;
	if (!owner) {
		if (is_busy) {
			count(&cpu->missed, 1);
			return;
		}
		count(&cpu->entries, 1);
		count(&cpu->no_room, 1);
		return;
	}
	depth = owner->state & OWNER_DEPTH;
	here = place_of(&owner->place_now, place, number);
	if (unlikely(depth))
		depth = drop_left(cpu, owner, depth, here);
	if (is_closed) {
		/* Its end must not be taken for that of one which was left. */
		release(owner, key, depth);
		return;
	}
	count(&cpu->entries, 1);
	if (depth >= SECTION_DEEPEST) {
		count(&cpu->too_deep, 1);
		release(owner, key, depth);
		return;
	}
	frame = frame_at(owner, depth);
	frame->place = here;
	if (!depth) {
		owner->left_ns = 0;
		owner->lock_ns = 0;
		owner->fault_ns = 0;
		owner->steal_at_ns = steal_here();
	}
	frame->cpu = bpf_get_smp_processor_id();
	frame->level = cpu->level;
	frame->samples = frame->spins = 0;
	frame->flags = drawn.flags;
	if (wanted.treatment && drawn.flags)
		count_entry(cpu, &drawn);
	/* What comes from now on is of an owner in the section. */
	*(volatile __u64 *)&owner->state = key << 8 | OWNER_TAKEN | OWNER_BUSY | (depth + 1);
	barrier();
	/* Last, so that what it took to begin is no part of the duration. */
	frame->begin_ns = take_mark(owner, &frame->began, 0, 0);
	release(owner, key, depth + 1);
}

ALWAYS_INLINE void keep(struct section_cpu *cpu, const struct section_frame *frame,
			const struct section_mark *ended, __u64 now, __u64 pid_tgid, bool has_moved)
{
	struct section_row *row = (void *)(cpu + 1);
	const struct section_parts *began = &frame->began.parts;
	__u64 number = __sync_fetch_and_add(&cpu->rows, 1);
	__u64 others_ns, duration_ns = now - frame->begin_ns;

	row += number & wanted.row_mask;
	__sync_lock_test_and_set(&row->number, 0);
	row->begin_ns = frame->begin_ns;
	row->duration_ns = duration_ns;
	row->parts.interrupted_ns = ended->parts.interrupted_ns - began->interrupted_ns;
	row->parts.preempted_ns = ended->parts.preempted_ns - began->preempted_ns;
	row->parts.slept_ns = ended->parts.slept_ns - began->slept_ns;
	row->parts.lock_ns = ended->parts.lock_ns - began->lock_ns;
	row->parts.fault_ns = ended->parts.fault_ns - began->fault_ns;
	row->parts.steal_ns = ended->parts.steal_ns - began->steal_ns;
	row->parts.faults = ended->parts.faults - began->faults;
	/* The host's clock measures steal, and may go faster than this one. Nothing else is
	 * shortened: parts that overlapped would be seen. */
	others_ns = row->parts.interrupted_ns + row->parts.preempted_ns + row->parts.slept_ns +
		    row->parts.lock_ns + row->parts.fault_ns;
	row->parts.steal_ns = min(row->parts.steal_ns, duration_ns - min(others_ns, duration_ns));
	row->samples = frame->samples;
	row->spins = frame->spins;
	row->pid = pid_tgid;
	row->begin_cpu = frame->cpu;
	row->flags = frame->flags | (has_moved ? EXECUTION_MOVED : 0);
	if (wanted.counter_count)
		/* Where nobody sees that a thread leaves its CPU, counts are of two of them. */
		keep_counts(row, &frame->began, ended,
			    has_moved && ended->changes == frame->began.changes);
	/* The probe sees it after the rest, on every architecture. */
	__sync_lock_test_and_set(&row->number, number + 1);
}

/* count_unmatched - count an end without its beginning, if beginnings are seen still. Here alone
 * the end of an execution needs the name of its thread, which takes long. */
ALWAYS_INLINE void count_unmatched(struct section_cpu *cpu, __u64 pid_tgid, bool is_counted)
{
	if (is_counted && !cpu->is_closed && is_wanted(pid_tgid))
		count(&cpu->unmatched, 1);
}

/* end - an execution ends, as begin() has it; now: when; is_counted: whether one without its
 * beginning is; context: the program's */
ALWAYS_INLINE void end(__u64 key, void *place, __u64 number, __u64 now, __u64 pid_tgid,
		       bool is_counted, void *context)
{
	struct section_cpu *cpu = cpu_here();
	struct section_frame *frame;
	struct section_owner *owner;
	struct section_mark ended;
	__u64 depth, top, here, duration_ns = 0;
	bool is_busy = 0, is_drawn = 0, is_found = 0;
	__u32 bin;

	if (!cpu)
		return;
	owner = lock_owner(key, 0, &is_busy);
	if (!owner) {
		if (!is_busy)
			count_unmatched(cpu, pid_tgid, is_counted);
		else if (!cpu->is_closed)
			count(&cpu->missed, 1);
		return;
	}
	depth = top = owner->state & OWNER_DEPTH;
	here = place_of(&owner->place_now, place, number);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SECTION_DEEPEST; i++) {
		if (!depth)
			break;
		depth--;
		if (likely(frame_at(owner, depth)->place == here)) {
			is_found = 1;
			break;
		}
	}
	if (!is_found) {
		count_unmatched(cpu, pid_tgid, is_counted);
		release(owner, key, top);
		return;
	}
	/* The verifier knows how many turns that took, and would go through the rest for each. */
	opaque(depth);
	frame = frame_at(owner, depth);
	if (frame->flags || (cpu->above_ns && now - frame->begin_ns > cpu->above_ns)) {
		/* In memory throughout, of which nothing is read where nothing is counted. */
		escape(&ended);
		take_mark(owner, &ended, now, &frame->began);
		keep(cpu, frame, &ended, now, pid_tgid, frame->cpu != bpf_get_smp_processor_id());
	}
	if (top - depth > 1)
		count(&cpu->left, top - depth - 1);
	bin = bin_of(now - frame->begin_ns);
	/* The compiler knows that it is in bounds, the verifier does not. */
	opaque(bin);
	if (bin < WIRE_WAIT_BINS)
		count(&cpu->bins[bin], 1);
	if (wanted.treatment && frame->flags)
		count(&arm_of(cpu, frame->flags)->returned, 1);
	if (wanted.keeps_samples)
		keep_sample(cpu, owner, frame, now - frame->begin_ns, pid_tgid);
	/* The owner is another's once it is released. */
	if (wanted.keeps_paths) {
		duration_ns = now - frame->begin_ns;
		is_drawn = frame->flags;
	}
	release(owner, key, depth);
	if (wanted.keeps_paths)
		keep_path(cpu, duration_ns, is_drawn, pid_tgid, context);
}

/* may_end - whether an execution of the running thread may have begun. Its name may have changed
 * since, its process not. */
ALWAYS_INLINE bool may_end(__u64 pid_tgid)
{
	return !wanted.tgid || wanted.tgid == pid_tgid >> 32;
}

#endif
