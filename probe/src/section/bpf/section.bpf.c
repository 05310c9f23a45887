// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The programs of a section: one where it begins, one where it ends, by the way they are attached;
 * and those that tell what a thread in the section did meanwhile.
 */
#include "execution.h"
#include "parts.h"
#include "sample.h"

/* code_at - where the hook is that was hit */
ALWAYS_INLINE __u64 code_at(struct pt_regs *regs)
{
	struct pt_regs___arm64 *arm64 = (void *)regs;
	struct pt_regs___riscv *riscv = (void *)regs;
	__u64 address = 0;

	if (wanted.treatment != TREATMENT_PREFETCH || wanted.code_address)
		return 0;
	/* Read in either way: the verifier permits no reading from an address that is chosen
	 * before.
	 */
	if (kernel_has(regs->ip)) {
		address = regs->ip;
		opaque(address);
	} else if (kernel_has(arm64->pc)) {
		address = arm64->pc;
		opaque(address);
	} else if (kernel_has(riscv->epc)) {
		address = riscv->epc;
		opaque(address);
	}
	return address;
}

/* ---------------------------------------------------------------- functions, by trampolines */

SECTION("fentry/function") int function_entry(__u64 *context)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	if (is_wanted(pid_tgid))
		begin(thread_key(pid_tgid), context, 0, 0);
	return 0;
}

SECTION("fexit/function") int function_exit(__u64 *context)
{
	__u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();

	if (may_end(pid_tgid))
		end(thread_key(pid_tgid), context, 0, now, pid_tgid, 1, context);
	return 0;
}

/* ---------------------------------------------------------------- functions, by probes */

SECTION("kprobe/entry") int probe_entry(struct pt_regs *regs)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	if (is_wanted(pid_tgid))
		begin(thread_key(pid_tgid), 0, regs->sp, code_at(regs));
	return 0;
}

SECTION("kprobe/return") int probe_return(struct pt_regs *regs)
{
	__u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();

	if (may_end(pid_tgid))
		end(thread_key(pid_tgid), 0, regs->sp - wanted.return_pops, now, pid_tgid, 1, regs);
	return 0;
}

/*
 * probe_session - both in one program: a number that the kernel keeps for each execution says where
 * on the stack it began
 *
 * Where the entry of an execution is missed that number is what the kernel had there before: it is
 * set to 0 when it has been read, which is no place.
 */
SECTION("kprobe/session") int probe_session(struct pt_regs *regs)
{
	bool is_return = bpf_session_is_return(regs);
	__u64 now = is_return ? bpf_ktime_get_ns() : 0, place;
	__u64 pid_tgid = bpf_get_current_pid_tgid(), *cookie;

	if (is_return) {
		cookie = bpf_session_cookie(regs);
		place = *cookie;
		*cookie = 0;
		if (may_end(pid_tgid))
			end(thread_key(pid_tgid), 0, place, now, pid_tgid, 1, regs);
		return 0;
	}
	/* The kernel does not watch for the return. */
	if (!is_wanted(pid_tgid))
		return 1;
	*bpf_session_cookie(regs) = regs->sp;
	begin(thread_key(pid_tgid), 0, regs->sp, code_at(regs));
	return 0;
}

/* ---------------------------------------------------------------- pairs of places in user code */

SECTION("kprobe/begin") int probe_begin(void *context)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	(void)context;
	if (is_wanted(pid_tgid))
		begin(thread_key(pid_tgid), 0, 0, 0);
	return 0;
}

/* probe_begin_code - the same where the code is read before: what tells where it is needs the
 * kernel's BTF, and the others do not */
SECTION("kprobe/begin_code") int probe_begin_code(void *context)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	if (is_wanted(pid_tgid))
		begin(thread_key(pid_tgid), 0, 0, code_at(context));
	return 0;
}

SECTION("kprobe/end") int probe_end(void *context)
{
	__u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();

	(void)context;
	if (may_end(pid_tgid))
		end(thread_key(pid_tgid), 0, 0, now, pid_tgid, 1, context);
	return 0;
}

/* probe_next - end what began at this place before, and begin again: two programs at a place have
 * no order */
SECTION("kprobe/next") int probe_next(void *context)
{
	__u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();

	(void)context;
	if (!is_wanted(pid_tgid))
		return 0;
	/* The first time ends nothing. */
	end(thread_key(pid_tgid), 0, 0, now, pid_tgid, 0, context);
	begin(thread_key(pid_tgid), 0, 0, 0);
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
		begin(pair_key(context, pid_tgid, wanted.begin_argument), 0, 0, 0);
	return 0;
}

SECTION("raw_tp/end") int pair_end(__u64 *context)
{
	__u64 now = bpf_ktime_get_ns(), pid_tgid = bpf_get_current_pid_tgid();

	/* An end has none of the conditions, and may be of a beginning that had none of them. */
	end(pair_key(context, pid_tgid, wanted.end_argument), 0, 0, now, pid_tgid,
	    !wanted.condition_count, context);
	return 0;
}
