/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Stacks: what ran instead of a measured thread. Taken only when it is late, and mostly later. */
#ifndef WHYLATE_RECORDER_BPF_STACK_H
#define WHYLATE_RECORDER_BPF_STACK_H

#include "interrupted.h"

#define FRAME_PAIRS 6
#define KEPT_FRAMES (2 * FRAME_PAIRS)

/*
 * find_frame - return the innermost frame with that address
 *
 * Without branches, and always over all frames: the verifier follows both sides of every branch,
 * which is too much in a loop. A frame of an earlier stack may match as well.
 */
FUNCTION __u64 find_frame(const struct recorder_bpf_cpu *cpu, __u64 address)
{
	__u64 place = STACK_ROOM;

	if (!cpu)
		return place;
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

/*
 * A stack costs more than everything else that is recorded. While the measured thread waits, one is
 * taken only if it adds at most this part to how late the thread is already. Otherwise it is taken
 * once the thread is done: see take_later().
 */
#define STACK_PART 100

/* The first find the kernel's tables cold. They are taken before the run, and recorded nowhere. */
#define STACKS_COLD 2

ALWAYS_INLINE bool may_take(const struct recorder_bpf_cpu *cpu, __u64 late_ns)
{
	return cpu->stacks >= STACKS_COLD && late_ns > STACK_PART * cpu->stack_ns;
}

ALWAYS_INLINE void learn_cost(struct recorder_bpf_cpu *cpu, __u64 took_ns)
{
	cpu->stack_ns = cpu->stacks++ < STACKS_COLD ? took_ns : (3 * cpu->stack_ns + took_ns) / 4;
}

/* A stack that was taken: where its frames begin in the scratch, and how many there are. */
struct stack {
	__u64 first;
	__u64 frames;
};

/* of_here - the stack of what runs, and of the tracing that was called there */
ALWAYS_INLINE struct stack of_here(__u64 *context, struct recorder_bpf_cpu *cpu, __u32 most,
				   __u64 now)
{
	long bytes = bpf_get_stack(context, cpu->frames, most * sizeof(cpu->frames[0]), 0);
	struct stack stack = {0};

	if (bytes > 0)
		stack.frames = (__u64)bytes / sizeof(cpu->frames[0]);
	learn_cost(cpu, bpf_ktime_get_ns() - now);
	return stack;
}

/* scause of an environment call from user mode (RISC-V ISA volume 2). */
#define CAUSE_CALL_RISCV 8

/*
 * system_call_of - return 1 + the number of the system call that a thread is in; 0: in none
 *
 * The end of a system call has a stack without the functions that were called. The registers with
 * which a thread entered the kernel lie where its stack begins; of a kernel thread they mean
 * nothing, and the host takes the number only where the stack is one of a system call.
 */
ALWAYS_INLINE __u64 system_call_of(struct task_struct *task)
{
	struct pt_regs *regs = bpf_task_pt_regs(task);
	struct pt_regs___arm64 *arm64 = (void *)regs;
	struct pt_regs___riscv *riscv = (void *)regs;
	__u64 number = ~0ull;

	if (kernel_has(regs->orig_ax))
		number = regs->orig_ax;
	else if (kernel_has(arm64->syscallno))
		number = (__u64)(__s64)arm64->syscallno;
	else if (kernel_has(riscv->orig_a0) && riscv->cause == CAUSE_CALL_RISCV)
		number = riscv->a7;
	return number <= 0xffff ? 1 + number : 0;
}

/* put_frames - record a stack's event and its frames on this CPU. Returns its number */
FUNCTION __u64 put_frames(const struct stack *stack, const struct recorder_event *event)
{
	/* Of what it is given, a function knows the type alone: no ring behind it. */
	struct recorder_bpf_cpu *cpu = cpu_here();
	__u64 first, frames, pairs, number, now;

	if (!cpu || !stack || !event)
		return 0;
	now = event->time_ns;
	first = stack->first;
	frames = min(stack->frames - first, KEPT_FRAMES);
	pairs = (frames + 1) / 2;
	number = reserve(cpu, 1 + pairs);
	fill(cpu, number, now, EVENT_STACK, event->a, frames, event->c, event->d, event->e,
	     event->f);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < FRAME_PAIRS; i++) {
		__u64 at = first + 2 * i;

		if (i >= pairs)
			break;
		fill(cpu, number + 1 + i, now, EVENT_FRAMES, 0, 0, 0, 0,
		     cpu->frames[at % STACK_ROOM],
		     2 * i + 1 < frames ? cpu->frames[(at + 1) % STACK_ROOM] : 0);
	}
	return number;
}

/* put_stack - record a stack. d: what it added to the thread's latency, ns. Returns its number */
ALWAYS_INLINE __u64 put_stack(struct stack stack, struct recorder_event event)
{
	return put_frames(&stack, &event);
}

/* put_later - the same after the window that it belongs to, which must find it */
ALWAYS_INLINE void put_later(struct recorder_bpf_cpu *cpu, struct stack stack,
			     struct recorder_event event)
{
	__u64 place = cpu->shared.laters;
	struct recorder_later *later = &cpu->shared.later[place % LATER_MOST];

	later->number = put_stack(stack, event);
	later->time_ns = event.time_ns;
	barrier();
	cpu->shared.laters = place + 1;
}

/* record_late - record what a late timer interrupted; its code has not changed since */
ALWAYS_INLINE void record_late(struct recorder_bpf_cpu *cpu)
{
	__u64 instruction = cpu->late_instruction, code = code_before(instruction);
	/* The kernel's stack holds no user code. */
	bool user = instruction && !is_kernel(instruction);
	struct stack stack = {0};

	cpu->late_to_record = 0;
	if (cpu->late_copied && may_enable(code)) {
		cpu->frames[0] = caller(cpu);
		stack.frames = !!cpu->frames[0];
	} else {
		/* Nor are the callers above of any use. */
		cpu->late_deep = 0;
		cpu->culprit.late_ns = 0;
		if (!cpu->culprit.switched_ns)
			cpu->culprit.task = 0;
	}
	put_later(cpu, stack,
		  (struct recorder_event){
		      .time_ns = cpu->late_ns,
		      .a = user ? STACK_TIMER | STACK_OF_USER : STACK_TIMER,
		      .c = cpu->late_pid,
		      .d = cpu->late_took_ns,
		      .e = user ? 0 : instruction,
		      .f = code,
		  });
}

/*
 * look_at_timer - look at what a late timer interrupted, while it delays the measured thread
 *
 * So as little as possible is done here: what the code says can be looked at later as well. deep:
 * with callers, as far as they are of use.
 */
ALWAYS_INLINE void look_at_timer(__u64 *context, struct recorder_bpf_cpu *cpu,
				 struct hrtimer *timer, __u64 now, __u64 late_ns, bool deep)
{
	union registers registers = {0};
	__u64 instruction = read_interrupted(interrupted_registers(timer), &registers);
	__u32 thread;

	if (!instruction && !deep)
		return;
	thread = bpf_get_current_pid_tgid();
	deep = deep && (!instruction || is_kernel(instruction)) && thread != cpu->shared.measured;
	if (deep && (!instruction || is_on_stack()) && may_take(cpu, late_ns)) {
		__u64 code = code_before(instruction);
		struct stack stack = {0};

		if (!instruction || may_enable(code))
			stack = of_here(context, cpu, STACK_ROOM, now);
		/* What is above is of no use. Not found: keep all of it. */
		stack.first = find_frame(cpu, instruction);
		if (stack.first >= stack.frames)
			stack.first = 0;
		cpu->late_to_record = 0;
		cpu->late_deep = 0;
		put_stack(stack, (struct recorder_event){
				     .time_ns = now,
				     .a = STACK_TIMER,
				     .c = thread,
				     .d = bpf_ktime_get_ns() - now,
				     .e = instruction,
				     .f = code,
				 });
		return;
	}
	if (deep)
		copy_frame(cpu, &registers);
	cpu->late_ns = now;
	cpu->late_pid = thread;
	cpu->late_instruction = instruction;
	cpu->late_deep = deep;
	cpu->late_copied = deep;
	cpu->late_to_record = 1;
	cpu->settled = 0;
	/* What it takes adds to the thread's latency, and is recorded. */
	cpu->late_took_ns = bpf_ktime_get_ns() - now;
	/* Which of many threads it makes late is not known yet. */
	if (is_watching())
		record_late(cpu);
}

/*
 * look_at_switch - record on whose stack the CPU still is: it delayed the measured thread, which is
 * switched to. runnable_ns: since when it waited
 *
 * Where the stack must wait, it stays as it is until that thread runs again.
 */
ALWAYS_INLINE void look_at_switch(__u64 *context, struct recorder_bpf_cpu *cpu,
				  struct task_struct *prev, __u64 now, __u64 runnable_ns)
{
	bool delayed = now - runnable_ns > config.stack_after_ns;
	__u64 pid = (__u32)prev->pid;

	cpu->culprit.task = 0;
	if (cpu->late_pid != pid)
		cpu->late_deep = 0;
	/* The window of a watched program's thread is copied while that thread may still run. */
	if (delayed && (is_watching() || may_take(cpu, now - runnable_ns))) {
		struct stack stack = of_here(context, cpu, KEPT_FRAMES, now);

		put_stack(stack, (struct recorder_event){
				     .time_ns = now,
				     .a = STACK_SWITCH,
				     .c = pid,
				     .d = bpf_ktime_get_ns() - now,
				     .f = system_call_of(prev),
				 });
		delayed = 0;
	}
	if (!delayed && !cpu->late_deep)
		return;
	cpu->settled = 0;
	cpu->culprit = (struct recorder_culprit){
	    .task = (__u64)prev,
	    .pid = pid,
	    .switches = prev->nvcsw + prev->nivcsw,
	    .switched_ns = delayed ? now : 0,
	    .late_ns = cpu->late_deep ? cpu->late_ns : 0,
	    .late_instruction = cpu->late_instruction,
	};
	cpu->late_deep = 0;
}

/* is_unchanged - whether a culprit has not run since the CPU was taken from it */
ALWAYS_INLINE bool is_unchanged(const struct recorder_culprit *culprit, struct task_struct *task)
{
	return (__u32)task->pid == culprit->pid && !(kernel_has(task->on_cpu) && task->on_cpu) &&
	       task->nvcsw + task->nivcsw == culprit->switches;
}

/* take_stack - record the stack of a culprit that does not run */
ALWAYS_INLINE void take_stack(struct recorder_bpf_cpu *cpu, const struct recorder_culprit *culprit,
			      struct task_struct *task, __u64 now)
{
	struct stack stack = {0};
	long bytes;

	if (!is_unchanged(culprit, task))
		return;
	bytes = bpf_get_task_stack(task, cpu->frames, sizeof(cpu->frames), 0);
	/* Another CPU may just have begun with it. */
	if (bytes <= 0 || !is_unchanged(culprit, task))
		return;
	learn_cost(cpu, bpf_ktime_get_ns() - now);
	stack.frames = (__u64)bytes / sizeof(cpu->frames[0]);
	if (culprit->switched_ns)
		put_later(cpu, stack,
			  (struct recorder_event){
			      .time_ns = culprit->switched_ns,
			      .a = STACK_SWITCH,
			      .c = culprit->pid,
			      .f = system_call_of(task),
			  });
	if (!culprit->late_ns)
		return;
	/* Only if that interrupt preempted it: otherwise it has gone on since. */
	stack.first = find_frame(cpu, culprit->late_instruction);
	if (stack.first < stack.frames)
		put_later(cpu, stack,
			  (struct recorder_event){
			      .time_ns = culprit->late_ns,
			      .a = STACK_TIMER,
			      .c = culprit->pid,
			      .e = culprit->late_instruction,
			      .f = code_before(culprit->late_instruction),
			  });
}

/*
 * take_later - record the stack of the thread that a measured one took the CPU from, once that one
 * is done
 *
 * Nobody waits for it then, and it has not changed. A kernel in which no task is found by its pid
 * shows that thread when it runs again: next.
 */
ALWAYS_INLINE void take_later(struct recorder_bpf_cpu *cpu, struct task_struct *next, __u64 now)
{
	if (config.finds_tasks) {
		struct task_struct *task;

		if (likely(!cpu->culprit.task))
			return;
		task = bpf_task_from_pid(cpu->culprit.pid);
		if (task) {
			take_stack(cpu, &cpu->culprit, task, now);
			bpf_task_release(task);
		}
		cpu->culprit.task = 0;
		return;
	}
	if (unlikely(cpu->culprit.task)) {
		cpu->awaited = cpu->culprit;
		cpu->shared.awaited_ns =
		    cpu->culprit.late_ns ? cpu->culprit.late_ns : cpu->culprit.switched_ns;
		cpu->culprit.task = 0;
	}
	if (unlikely(cpu->awaited.task == (__u64)next)) {
		take_stack(cpu, &cpu->awaited, next, now);
		cpu->awaited.task = 0;
		cpu->shared.awaited_ns = 0;
	}
}

/* look_after_stacks - take the stacks that are due at a switch */
ALWAYS_INLINE void look_after_stacks(__u64 *context, struct recorder_bpf_cpu *cpu,
				     struct task_struct *next, __u64 now)
{
	if (cpu->stacks < STACKS_COLD)
		of_here(context, cpu, STACK_ROOM, now);
	take_later(cpu, next, now);
	cpu->settled = cpu->stacks >= STACKS_COLD && !cpu->culprit.task && !cpu->awaited.task &&
		       !cpu->late_to_record;
}

/* forget_culprit - nothing that delayed the measured thread is wanted */
ALWAYS_INLINE void forget_culprit(struct recorder_bpf_cpu *cpu)
{
	cpu->culprit.task = 0;
	cpu->late_deep = 0;
	cpu->late_to_record = 0;
}

#endif
