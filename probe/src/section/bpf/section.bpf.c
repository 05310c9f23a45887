// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The programs of a section: one where it begins, one where it ends.
 *
 * An owner (a thread; of a pair of tracepoints whatever pairs them) has the executions that it
 * began and has not ended. Where it is on the stack tells which execution of a function ends: the
 * stack pointer, or the frame of the trampoline that calls both programs. So executions within
 * others, and those that were left without a return, are what they are.
 *
 * One program at a time works on an owner: it marks it as busy, by compare-and-swap of the whole
 * word of key, marks and depth. Whoever comes meanwhile, an interrupt of the same thread or another
 * CPU with the same argument, finds it busy and counts itself as missed. The kernel keeps a program
 * from interrupting itself, but not the one at the end from interrupting the one at the beginning.
 * A place in the table that is neither busy nor in use can be taken over, by the same
 * compare-and-swap.
 */
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
 * read again.
 */
ALWAYS_INLINE struct section_owner *lock_owner(__u64 key, bool may_take, bool *is_busy)
{
	__u32 number = 0;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < 2 * SECTION_TRIES; i++) {
		struct section_owner *owner = owner_at(key, number);
		__u64 before, after;

		if (!owner)
			return 0;
		before = *(volatile __u64 *)&owner->state;
		if (before & OWNER_TAKEN && before >> 8 == key) {
			if (before & OWNER_BUSY) {
				*is_busy = 1;
				return 0;
			}
			after = before | OWNER_BUSY;
		} else if (!may_take && !before) {
			return 0;
		} else if (may_take && !(before & (OWNER_BUSY | OWNER_DEPTH))) {
			after = key << 8 | OWNER_TAKEN | OWNER_BUSY;
		} else {
			if (++number == SECTION_TRIES)
				return 0;
			continue;
		}
		if (change(owner, before, after))
			return owner;
	}
	return 0;
}

ALWAYS_INLINE struct section_frame *frame_at(struct section_owner *owner, __u64 number)
{
	return &owner->frames[number & (SECTION_DEEPEST - 1)];
}

/* place_of - where on the stack, as a number: a pointer becomes one through memory */
ALWAYS_INLINE __u64 place_of(struct section_owner *owner, void *place, __u64 number)
{
	if (!place)
		return number;
	*(void *volatile *)&owner->place_now = place;
	barrier();
	return *(volatile __u64 *)&owner->place_now;
}

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

/* begin - an execution begins; place: a pointer, or a number, that says where on the stack */
ALWAYS_INLINE void begin(__u64 key, void *place, __u64 number)
{
	struct section_cpu *cpu = cpu_here();
	struct section_frame *frame;
	struct section_owner *owner;
	__u64 depth, here;
	bool is_busy = 0, is_closed;

	if (!cpu)
		return;
	is_closed = cpu->is_closed;
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
	here = place_of(owner, place, number);
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
	frame->cpu = bpf_get_smp_processor_id();
	frame->is_drawn = cpu->one_in < 2 || bpf_get_prandom_u32() % (__u32)cpu->one_in == 0;
	/* Last, so that what it took to begin is no part of the duration. */
	frame->begin_ns = bpf_ktime_get_ns();
	release(owner, key, depth + 1);
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

ALWAYS_INLINE void keep(struct section_cpu *cpu, const struct section_frame *frame, __u64 now,
			__u64 pid_tgid, bool has_moved)
{
	struct section_row *row = (void *)(cpu + 1);
	__u64 number = __sync_fetch_and_add(&cpu->rows, 1);

	row += number & wanted.row_mask;
	__sync_lock_test_and_set(&row->number, 0);
	row->begin_ns = frame->begin_ns;
	row->duration_ns = now - frame->begin_ns;
	row->pid = pid_tgid;
	row->begin_cpu = frame->cpu;
	row->flags = (frame->is_drawn ? EXECUTION_DRAWN : 0) | (has_moved ? EXECUTION_MOVED : 0);
	/* The probe sees it after the rest, on every architecture. */
	__sync_lock_test_and_set(&row->number, number + 1);
}

/* count_unmatched - count an end without its beginning, if beginnings are seen still */
ALWAYS_INLINE void count_unmatched(struct section_cpu *cpu, bool is_counted)
{
	if (is_counted && !cpu->is_closed)
		count(&cpu->unmatched, 1);
}

/* end - an execution ends, as begin() has it; now: when; is_counted: whether one without its
 * beginning is */
ALWAYS_INLINE void end(__u64 key, void *place, __u64 number, __u64 now, __u64 pid_tgid,
		       bool is_counted)
{
	struct section_cpu *cpu = cpu_here();
	struct section_frame *frame = 0;
	struct section_owner *owner;
	__u64 depth, top, here;
	bool is_busy = 0;
	__u32 bin;

	if (!cpu)
		return;
	owner = lock_owner(key, 0, &is_busy);
	if (!owner) {
		if (!is_busy)
			count_unmatched(cpu, is_counted);
		else if (!cpu->is_closed)
			count(&cpu->missed, 1);
		return;
	}
	depth = top = owner->state & OWNER_DEPTH;
	here = place_of(owner, place, number);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SECTION_DEEPEST; i++) {
		if (!depth)
			break;
		depth--;
		if (likely(frame_at(owner, depth)->place == here)) {
			frame = frame_at(owner, depth);
			break;
		}
	}
	if (!frame) {
		count_unmatched(cpu, is_counted);
		release(owner, key, top);
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
		keep(cpu, frame, now, pid_tgid, frame->cpu != bpf_get_smp_processor_id());
	release(owner, key, depth);
}

/* may_end - whether an execution of the running thread may have begun. Its name may have changed
 * since, its process not. */
ALWAYS_INLINE bool may_end(__u64 pid_tgid)
{
	return !wanted.tgid || wanted.tgid == pid_tgid >> 32;
}

/* ---------------------------------------------------------------- functions, by trampolines */

SECTION("fentry/function") int function_entry(__u64 *context)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	if (is_wanted(pid_tgid))
		begin(thread_key(pid_tgid), context, 0);
	return 0;
}

SECTION("fexit/function") int function_exit(__u64 *context)
{
	__u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();

	if (may_end(pid_tgid))
		end(thread_key(pid_tgid), context, 0, now, pid_tgid, is_wanted(pid_tgid));
	return 0;
}

/* ---------------------------------------------------------------- functions, by probes */

SECTION("kprobe/entry") int probe_entry(struct pt_regs *regs)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	if (is_wanted(pid_tgid))
		begin(thread_key(pid_tgid), 0, regs->sp);
	return 0;
}

SECTION("kprobe/return") int probe_return(struct pt_regs *regs)
{
	__u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();

	if (may_end(pid_tgid))
		end(thread_key(pid_tgid), 0, regs->sp - wanted.return_pops, now, pid_tgid,
		    is_wanted(pid_tgid));
	return 0;
}

/* ---------------------------------------------------------------- pairs of tracepoints */

/* In assembly: the compiler would read from one address that it computes before, which the verifier
 * permits in no context. */
#define ARGUMENT(number)                                                                           \
	case number:                                                                               \
		__asm__ volatile("%0 = *(u64 *)(%1 + %2)"                                          \
				 : "=r"(value)                                                     \
				 : "r"(context), "i"(number * 8));                                 \
		break;

/* argument - an argument of a tracepoint; which is a constant for the verifier */
ALWAYS_INLINE __u64 argument(const __u64 *context, __u32 which)
{
	__u64 value = 0;

	switch (which) {
		ARGUMENT(0)
		ARGUMENT(1)
		ARGUMENT(2)
		ARGUMENT(3)
		ARGUMENT(4)
		ARGUMENT(5)
		ARGUMENT(6)
		ARGUMENT(7)
		ARGUMENT(8)
		ARGUMENT(9)
		ARGUMENT(10)
		ARGUMENT(11)
	}
	return value;
}

ALWAYS_INLINE bool holds(const __u64 *context)
{
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < SECTION_CONDITIONS; i++) {
		__u32 bits = 64 - 8 * wanted.conditions[i].bytes;

		if (i < wanted.condition_count &&
		    (argument(context, wanted.conditions[i].argument) ^ wanted.conditions[i].value)
			<< bits)
			return 0;
	}
	return 1;
}

/* pair_key - what pairs a beginning with its end; 56 bits of an argument, whose highest 8 say
 * nothing in an address */
ALWAYS_INLINE __u64 pair_key(const __u64 *context, __u64 pid_tgid, __u32 which)
{
	if (wanted.key == KEY_CPU)
		return KEY_OF_CPU + bpf_get_smp_processor_id();
	if (wanted.key == KEY_ARGUMENT)
		return argument(context, which) << 8 >> 8;
	return thread_key(pid_tgid);
}

SECTION("raw_tp/begin") int pair_begin(__u64 *context)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	if (is_wanted(pid_tgid) && holds(context))
		begin(pair_key(context, pid_tgid, wanted.begin_argument), 0, 0);
	return 0;
}

SECTION("raw_tp/end") int pair_end(__u64 *context)
{
	__u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();

	/* An end has none of the conditions, and may be of a beginning that had none of them. */
	end(pair_key(context, pid_tgid, wanted.end_argument), 0, 0, now, pid_tgid,
	    !wanted.condition_count && is_wanted(pid_tgid));
	return 0;
}
