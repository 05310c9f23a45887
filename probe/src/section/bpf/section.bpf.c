// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The programs of a section: one where it begins, one where it ends.
 *
 * An owner (a thread; of a pair of tracepoints whatever pairs them) has the executions that it
 * began and has not ended. Where it is on the stack tells which execution of a function ends: the
 * stack pointer, or the frame of the trampoline that calls both programs. So executions within
 * others, and those that were left without a return, are what they are.
 *
 * The owner's word of key and depth changes from depth 0 by compare-and-swap alone, so that a place
 * in the table which is not in use can be taken over. At other depths it is its owner's, whose
 * interrupts leave it as they found it.
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
	frame->is_drawn = cpu->one_in < 2 || bpf_get_prandom_u32() % (__u32)cpu->one_in == 0;
	/* Last, so that what it took to begin is no part of the duration. */
	frame->begin_ns = bpf_ktime_get_ns();
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
	row->number = 0;
	barrier();
	row->begin_ns = frame->begin_ns;
	row->duration_ns = now - frame->begin_ns;
	row->pid = pid_tgid;
	row->begin_cpu = frame->cpu;
	row->flags = (frame->is_drawn ? EXECUTION_DRAWN : 0) | (has_moved ? EXECUTION_MOVED : 0);
	barrier();
	row->number = number + 1;
}

/* end - an execution ends, as begin() has it; now: when */
ALWAYS_INLINE void end(__u64 key, void *place, __u64 number, __u64 now, __u64 pid_tgid)
{
	struct section_cpu *cpu = cpu_here();
	struct section_owner *owner = find_owner(key);
	struct section_frame *frame = 0;
	__u64 depth, top;
	__u32 bin;

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
		keep(cpu, frame, now, pid_tgid, frame->cpu != bpf_get_smp_processor_id());
	barrier();
	owner->key_depth = key << 8 | depth;
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

	if (is_wanted(pid_tgid))
		end(thread_key(pid_tgid), context, 0, now, pid_tgid);
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

	if (is_wanted(pid_tgid))
		end(thread_key(pid_tgid), 0, regs->sp - wanted.return_pops, now, pid_tgid);
	return 0;
}

/* ---------------------------------------------------------------- pairs of places in user code */

SECTION("kprobe/begin") int probe_begin(void *context)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	(void)context;
	if (is_wanted(pid_tgid))
		begin(thread_key(pid_tgid), 0, 0);
	return 0;
}

SECTION("kprobe/end") int probe_end(void *context)
{
	__u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();

	(void)context;
	if (is_wanted(pid_tgid))
		end(thread_key(pid_tgid), 0, 0, now, pid_tgid);
	return 0;
}

/* probe_next - end what began at this place before, and begin again: two programs at a place have
 * no order */
SECTION("kprobe/next") int probe_next(void *context)
{
	__u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();
	struct section_owner *owner;

	(void)context;
	if (!is_wanted(pid_tgid))
		return 0;
	owner = find_owner(thread_key(pid_tgid));
	if (owner && owner->key_depth & 0xff)
		end(thread_key(pid_tgid), 0, 0, now, pid_tgid);
	begin(thread_key(pid_tgid), 0, 0);
	return 0;
}

/* ---------------------------------------------------------------- pairs of tracepoints */

#define ARGUMENTS_MOST 12

/* argument - an argument of a tracepoint; which is a constant for the verifier */
ALWAYS_INLINE __u64 argument(const __u64 *context, __u32 which)
{
	__u64 value = 0;

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < ARGUMENTS_MOST; i++)
		if (i == which)
			value = context[i];
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

	end(pair_key(context, pid_tgid, wanted.end_argument), 0, 0, now, pid_tgid);
	return 0;
}
