/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a watched program's threads wait for: how long they are off the CPU until they are due,
 * and in which system call. None of it is part of a wakeup latency, which begins then.
 */
#ifndef WHYLATE_RECORDER_BPF_WAITS_H
#define WHYLATE_RECORDER_BPF_WAITS_H

#include "stack.h"

#define STATE_DEAD 0x80 /* TASK_DEAD: it never runs again */
/* PF_KTHREAD, PF_USER_WORKER, PF_IO_WORKER: what lies where its stack begins is no user's. */
#define FLAGS_KERNEL	   (0x00200000 | 0x00004000 | 0x00000010)
#define NOT_RETURNED_X86   (-38l) /* -ENOSYS */
#define MODE32_ARM64	   0x10
#define USER32_RISCV	   1 /* sstatus.UXL */
#define FUTEX_X86	   202
#define FUTEX_OF_OTHERS	   98
#define FUTEX_WAIT_OF_BOTH 455

/*
 * read_system_call - read the system call that a thread waits in, and its futex
 *
 * Only on positive evidence. On x86 what looks like its number is an error code in a page fault,
 * and the result is -ENOSYS only in a system call, until there is one; of a 32-bit program, whose
 * stack lies below 4 GiB, the numbers mean something else. Linux on arm64 has -1 outside of one,
 * and RISC-V the cause of the entry.
 */
ALWAYS_INLINE void read_system_call(struct task_struct *task, struct recorder_left *entry)
{
	struct pt_regs *regs;
	struct pt_regs___arm64 *arm64;
	struct pt_regs___riscv *riscv;
	__u64 number = ~0ull, first = 0, futex;

	if (!kernel_has(task->flags) || (task->flags & FLAGS_KERNEL))
		return;
	regs = bpf_task_pt_regs(task);
	arm64 = (void *)regs;
	riscv = (void *)regs;
	if (kernel_has(regs->orig_ax)) {
		if ((long)regs->ax != NOT_RETURNED_X86 || regs->sp >> 32 == 0)
			return;
		number = regs->orig_ax;
		first = regs->di;
		futex = FUTEX_X86;
	} else if (kernel_has(arm64->syscallno)) {
		if (arm64->pstate & MODE32_ARM64)
			return;
		number = (__u64)(__s64)arm64->syscallno;
		first = arm64->regs[0];
		futex = FUTEX_OF_OTHERS;
	} else if (kernel_has(riscv->orig_a0)) {
		if (riscv->cause != CAUSE_CALL_RISCV || (riscv->status >> 32 & 3) == USER32_RISCV)
			return;
		number = riscv->a7;
		first = riscv->orig_a0;
		futex = FUTEX_OF_OTHERS;
	}
	if (number >= 0xffff)
		return;
	entry->system_call = 1 + number;
	/* What is no address of a program is none of a futex either. */
	if ((number == futex || number == FUTEX_WAIT_OF_BOTH) && !(first >> 63))
		entry->futex = first;
}

/* watched_waits - note when a watched thread leaves the CPU, and for what */
ALWAYS_INLINE void watched_waits(struct task_struct *prev, __u32 pid, __u32 state, __u64 now)
{
	struct recorder_left entry = {.left_ns = now, .state = state & SWITCH_STATE};

	if (state & STATE_DEAD)
		return;
	read_system_call(prev, &entry);
	bpf_map_update_elem(&left, &pid, &entry, 0);
}

/* put_wait - add to a stage how long its thread was off the CPU before it was due: its latency
 * begins then */
FUNCTION int put_wait(struct recorder_stage *stage, __u32 pid, __u64 due_ns)
{
	struct recorder_left *entry = bpf_map_lookup_elem(&left, &pid);
	__u64 left_ns;

	if (!stage)
		return 0;
	stage->waited_ns = 0;
	if (!entry)
		return 0;
	left_ns = entry->left_ns;
	/* One that is due on its way off the CPU has not waited. */
	stage->waited_ns = 1 + (due_ns > left_ns ? due_ns - left_ns : 0);
	stage->futex = entry->futex;
	stage->system_call = entry->system_call;
	stage->wait_state = entry->state;
	bpf_map_delete_elem(&left, &pid);
	return 1;
}

#endif
