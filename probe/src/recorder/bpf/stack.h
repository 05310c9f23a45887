/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Stacks: what ran instead of a measured thread. Taken only when it is late. */
#ifndef WHYLATE_RECORDER_BPF_STACK_H
#define WHYLATE_RECORDER_BPF_STACK_H

#include "cpu.h"

#define FRAME_PAIRS 6
#define KEPT_FRAMES (2 * FRAME_PAIRS)

/*
 * interrupted - read the instruction that the running interrupt interrupted; 0: not known
 *
 * timer: one that expires in it. Its base is this CPU's, which few kernels show otherwise.
 */
ALWAYS_INLINE __u64 interrupted(struct hrtimer *timer)
{
	struct pt_regs *regs = 0;
	__u64 instruction = 0;

	if (!config.registers_at)
		return 0;
	bpf_probe_read_kernel(&regs, sizeof(regs), timer->base->cpu_base + config.registers_at);
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
 * find_frame - return the innermost frame with that address
 *
 * Without branches, and always over all frames: the verifier follows both sides of every branch,
 * which is too much in a loop. A frame of an earlier stack may match as well.
 */
ALWAYS_INLINE __u64 find_frame(const struct recorder_bpf_cpu *cpu, __u64 address)
{
	__u64 place = STACK_ROOM;

#pragma clang loop unroll(disable)
	for (__u32 i = STACK_ROOM; i > 0; i--) {
		__u64 offset = cpu->frames[i - 1] - address;
		/* 1 where neither offset nor its negative is negative. */
		__u64 is_it = ~(offset | -offset) >> 63;

		opaque(is_it);
		place += (i - 1 - place) * is_it;
	}
	return place;
}

/* has_byte - whether any byte of a word is this one */
ALWAYS_INLINE bool has_byte(__u64 word, __u8 byte)
{
	const __u64 ones = 0x0101010101010101;
	__u64 zero_where_it_is = word ^ ones * byte;

	return (zero_where_it_is - ones) & ~zero_where_it_is & ones << 7;
}

/*
 * may_enable - whether the code before an instruction may have switched interrupts on
 *
 * The host decodes exactly (enables() in raw_events.py); whatever it accepts, this accepts. A stack
 * adds nothing to the instruction where interrupts were enabled before, nor where the thread itself
 * was still on its way to sleep, and it costs more than everything else.
 */
ALWAYS_INLINE bool may_enable(__u64 code)
{
	__u32 word = code >> 32;

	return has_byte(code, 0xfb) || has_byte(code, 0x9d) || (word & 0xfffff0ff) == 0xd50340ff ||
	       (word & 0xffffffe0) == 0xd51b4220 || (word & 0xffffffe0) == 0xd5184600;
}

/* A stack that was taken: where its frames begin in the scratch, and how many there are. */
struct stack {
	__u64 first;
	__u64 frames;
};

/* below_timer - the stack below a timer's interrupt; what is above is of no use */
ALWAYS_INLINE void below_timer(__u64 *context, struct recorder_bpf_cpu *cpu, __u64 instruction,
			       struct stack *stack)
{
	long bytes = bpf_get_stack(context, cpu->frames, sizeof(cpu->frames), 0);

	if (bytes > 0)
		stack->frames = (__u64)bytes / sizeof(cpu->frames[0]);
	stack->first = find_frame(cpu, instruction);
	/* Not found: keep all of it. */
	if (stack->first > stack->frames)
		stack->first = 0;
}

/* of_switch - the stack of the thread that is switched from: all of it, as far as it is kept */
ALWAYS_INLINE void of_switch(__u64 *context, struct recorder_bpf_cpu *cpu, struct stack *stack)
{
	long bytes = bpf_get_stack(context, cpu->frames, KEPT_FRAMES * sizeof(cpu->frames[0]), 0);

	if (bytes > 0)
		stack->frames = (__u64)bytes / sizeof(cpu->frames[0]);
}

/* code_before - the 8 bytes of kernel code before an instruction, 0: not to be read */
ALWAYS_INLINE __u64 code_before(__u64 instruction)
{
	__u64 code = 0;

	if (is_kernel(instruction))
		bpf_probe_read_kernel(&code, sizeof(code), (void *)(instruction - sizeof(code)));
	return code;
}

/*
 * record_stack - record what the running thread did when the measured one should have run
 *
 * instruction: what the timer's interrupt interrupted, where that is known. deep: record the
 * callers too, not only the instruction.
 */
ALWAYS_INLINE void record_stack(__u64 *context, struct recorder_bpf_cpu *cpu, __u64 now, __u8 why,
				__u64 instruction, bool deep)
{
	/* The kernel's stack holds no user code. */
	bool user = instruction && !is_kernel(instruction);
	struct stack stack = {0};
	__u64 code = code_before(instruction), number, frames, pairs;
	__u32 thread = bpf_get_current_pid_tgid();

	if (why == STACK_SWITCH)
		of_switch(context, cpu, &stack);
	else if (deep && (!instruction || (may_enable(code) && thread != cpu->shared.measured)))
		below_timer(context, cpu, instruction, &stack);
	frames = min(stack.frames - stack.first, KEPT_FRAMES);
	pairs = (frames + 1) / 2;
	number = reserve(cpu, 1 + pairs);
	/* The time that it takes adds to the thread's latency, and is recorded. */
	fill(cpu, number, now, EVENT_STACK, user ? why | STACK_OF_USER : why, frames, thread,
	     bpf_ktime_get_ns() - now, user ? 0 : instruction, code);
	for (__u32 i = 0; i < FRAME_PAIRS; i++) {
		__u64 at = stack.first + 2 * i;

		if (i >= pairs)
			break;
		fill(cpu, number + 1 + i, now, EVENT_FRAMES, 0, 0, 0, 0,
		     cpu->frames[at % STACK_ROOM],
		     2 * i + 1 < frames ? cpu->frames[(at + 1) % STACK_ROOM] : 0);
	}
}

/*
 * record_system_call - record which system call a thread is in, if it is in one
 *
 * The end of a system call has a stack without the functions that were called. The registers
 * with which a thread entered the kernel lie where its stack begins; of a kernel thread they mean
 * nothing, and the host takes the number only where the stack is one of a system call.
 */
ALWAYS_INLINE void record_system_call(struct recorder_bpf_cpu *cpu, struct task_struct *task,
				      __u64 now)
{
	struct pt_regs *regs = bpf_task_pt_regs(task);
	__u64 number = ~0ull;

	if (kernel_has(regs->orig_ax)) {
		number = regs->orig_ax;
	} else {
		struct pt_regs___arm64 *arm64 = (void *)regs;

		if (kernel_has(arm64->syscallno))
			number = (__u64)(__s64)arm64->syscallno;
	}
	if (number <= 0xffff)
		record(cpu, now, EVENT_SYSTEM_CALL, 0, number, task->pid, 0, 0, 0);
}

#endif
