/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads that end in the section, and programs that are replaced in it.
 *
 * What they have begun does not return: it is left, and their place in the table is free. Pids are
 * used again, so that nothing may remain of a thread when the next one with its pid begins.
 */
#ifndef WHYLATE_SECTION_BPF_THREAD_H
#define WHYLATE_SECTION_BPF_THREAD_H

#include "owner.h"

/* What a thread is when it is switched from for the last time: linux/sched.h, since 4.14. */
#define TASK_DEAD 0x80

/* Of a thread, who it is. */
struct task_struct___thread {
	__u64 start_time;
	struct task_struct___thread *group_leader;
	int pid;
	int tgid;
} KERNEL;

/* leave_all - count what a thread has begun as left: none of it returns */
ALWAYS_INLINE void leave_all(__u64 key)
{
	struct section_cpu *cpu = cpu_here();
	struct section_owner *owner;
	bool is_busy = 0;

	if (!cpu)
		return;
	owner = lock_owner(key, 0, &is_busy);
	if (!owner)
		return;
	count(&cpu->left, owner->state & OWNER_DEPTH);
	release(owner, key, 0);
}

/*
 * leave_dead - what a thread has begun is left, as it is switched from for the last time
 *
 * The first thread of a process may have given its pid to another one, which has the program
 * replaced, and have that one's former pid, and that one have its time of start. What is under this
 * pid is not its own then.
 */
ALWAYS_INLINE void leave_dead(struct task_struct___thread *task)
{
	if (task->pid != task->tgid && task->start_time == task->group_leader->start_time)
		return;
	leave_all(thread_key((__u32)task->pid));
}

/* part_dead - the same where the section begins or ends at that switch: it comes behind its
 * programs */
SECTION("tp_btf/sched_switch_last") int part_dead(__u64 *context)
{
	struct task_struct *prev = (void *)context[1];
	struct task_struct___former *former = (void *)prev;
	__u64 state = kernel_has(prev->__state) ? prev->__state : (__u64)former->state;

	if (unlikely(!context[0] && state & TASK_DEAD))
		leave_dead((void *)prev);
	return 0;
}

/* follow_key - what a thread has begun goes on, and it has another pid from now on */
ALWAYS_INLINE void follow_key(__u64 before, __u64 now)
{
	struct section_owner *from, *to;
	bool is_busy = 0;
	__u64 depth;

	from = lock_owner(before, 0, &is_busy);
	if (!from)
		return;
	depth = from->state & OWNER_DEPTH;
	release(from, before, depth);
	if (!depth)
		return;
	to = lock_owner(now, 1, &is_busy);
	if (!to) {
		leave_all(before);
		return;
	}
	/* Behind the key of whose it is. */
	bpf_probe_read_kernel(&to->place_now, sizeof(*to) - sizeof(to->state), &from->place_now);
	release(from, before, 0);
	release(to, now, depth);
}

/*
 * part_exit - a thread ends: nothing on its stack returns
 *
 * Two places in the kernel may lie on either side of this, in the code of the thread's end: theirs
 * are left as it is switched from for the last time.
 */
SECTION("raw_tp/sched_process_exit") int part_exit(__u64 *context)
{
	(void)context;
	leave_all(thread_key(bpf_get_current_pid_tgid()));
	return 0;
}

/*
 * part_exec - a thread has another program: its code of the former is gone
 *
 * All other threads of the process have ended, and it has the pid of the first of them now. What it
 * does in the kernel goes on.
 */
SECTION("raw_tp/sched_process_exec") int part_exec(__u64 *context)
{
	__u64 now = thread_key(bpf_get_current_pid_tgid()), before = thread_key((__u32)context[1]);

	if (wanted.is_user || before != now)
		leave_all(now);
	if (before == now)
		return 0;
	if (wanted.is_user)
		leave_all(before);
	else
		follow_key(before, now);
	return 0;
}

/* part_new - a thread begins: what one with its pid began after its end, or where its end was not
 * seen, is none of its own */
SECTION("tp_btf/task_newtask") int part_new(__u64 *context)
{
	struct task_struct *task = (void *)context[0];

	leave_all(thread_key((__u32)task->pid));
	return 0;
}

#endif
