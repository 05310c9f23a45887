/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Stacks: what was running where a measured thread should have run. Taken only when it is late. */
#ifndef WHYLATE_RECORDER_BPF_STACK_H
#define WHYLATE_RECORDER_BPF_STACK_H

#include "cpu.h"

#define FRAME_PAIRS 6

/* interrupted - the instruction that the running interrupt interrupted; 0: not known */
ALWAYS_INLINE __u64 interrupted(void)
{
	__u64 instruction = 0;
	struct pt_regs **here, *regs;

	if (!&__irq_regs)
		return 0;
	here = bpf_this_cpu_ptr(&__irq_regs);
	regs = *here;
	if (!regs)
		return 0;
	if (kernel_has(regs->ip)) {
		bpf_probe_read_kernel(&instruction, sizeof(instruction), &regs->ip);
	} else {
		struct pt_regs___arm64 *arm64 = (void *)regs;

		if (kernel_has(arm64->pc))
			bpf_probe_read_kernel(&instruction, sizeof(instruction), &arm64->pc);
	}
	return instruction;
}

/* Kernel code lies in the upper half of the addresses on both architectures. */
ALWAYS_INLINE bool is_kernel(__u64 address)
{
	return address >> 63;
}

/*
 * find_frame - the innermost whose address is at begin or up to size bytes after it
 *
 * Without branches, and always over all of them: the verifier follows each side of every branch,
 * which is too much for it in a loop. What earlier stacks left behind may be found as well.
 */
ALWAYS_INLINE __u64 find_frame(const struct recorder_bpf_cpu *cpu, __u64 begin, __u64 size)
{
	__u64 found = STACK_ROOM;

	/* Else the compiler makes comparisons of them, with branches. */
	opaque(size);
#pragma clang loop unroll(disable)
	for (__u32 i = STACK_ROOM; i > 0; i--) {
		__u64 offset = cpu->frames[i - 1] - begin;
		/* 1 where neither offset nor size - offset is negative. */
		__u64 is_it = ~(offset | (size - offset)) >> 63;

		opaque(is_it);
		found += (i - 1 - found) * is_it;
	}
	return found;
}

/*
 * record_stack - the stack of the running thread, from the instruction on where that is in it
 *
 * Above it are the frames of the interrupt's entry and of the tracing itself, which say nothing.
 */
ALWAYS_INLINE void record_stack(__u64 *context, struct recorder_bpf_cpu *cpu, __u64 now, __u8 why,
				__u64 instruction)
{
	bool user = instruction && !is_kernel(instruction);
	__u64 first = 0, frames = 0, code = 0, number, pairs;
	long bytes = 0;

	/* There is nothing of user code on the kernel's stack. */
	if (!user)
		bytes = bpf_get_stack(context, cpu->frames, sizeof(cpu->frames), 0);
	if (bytes > 0)
		frames = (__u64)bytes / sizeof(cpu->frames[0]);
	if (instruction)
		first = find_frame(cpu, instruction, 0);
	else if (why == STACK_TIMER)
		first = 1 + find_frame(cpu, config.entry, config.entry_end - config.entry);
	/* Nothing below the entry: it was user code. Not found at all: all of it is better. */
	if (first > frames)
		first = 0;
	else if (first < frames && why == STACK_TIMER && !instruction)
		instruction = cpu->frames[first % STACK_ROOM];
	else if (first && first == frames && !instruction)
		user = 1;
	if (!first && !instruction && why == STACK_TIMER && config.user_entry)
		user = find_frame(cpu, config.user_entry,
				  config.user_entry_end - config.user_entry) < frames;
	if (is_kernel(instruction))
		bpf_probe_read_kernel(&code, sizeof(code), (void *)(instruction - sizeof(code)));
	frames = user ? 0 : min(frames - first, 2 * FRAME_PAIRS);
	pairs = (frames + 1) / 2;
	number = reserve(cpu, 1 + pairs);
	/* What it takes makes the thread later still, and is nobody else's. */
	fill(cpu, number, now, EVENT_STACK, user ? why | STACK_OF_USER : why, frames,
	     (__u32)bpf_get_current_pid_tgid(), bpf_ktime_get_ns() - now, user ? 0 : instruction,
	     code);
	for (__u32 i = 0; i < FRAME_PAIRS; i++) {
		__u64 at = first + 2 * i;

		if (i >= pairs)
			break;
		fill(cpu, number + 1 + i, now, EVENT_FRAMES, 0, 0, 0, 0,
		     cpu->frames[at % STACK_ROOM],
		     2 * i + 1 < frames ? cpu->frames[(at + 1) % STACK_ROOM] : 0);
	}
}

#endif
