/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a fault of the unseen set has beside it, as a module: the measured thread, which it knows
 * by its priority, names that stay in a disguise, and a bystander.
 *
 * The bystander is a thread of SCHED_OTHER, named as the module with _b. It has the CPU for a
 * moment before the fault begins and again when it is over, and looks after each few instructions
 * whether somebody else wants it: nobody waits for it.
 */
#ifndef WHYLATE_FAULT_MODULE_BESIDE_H
#define WHYLATE_FAULT_MODULE_BESIDE_H

#include <linux/kprobes.h>
#include <linux/tracepoint.h>

#include "fault_module.h"

static uint measured = 95;
module_param(measured, uint, 0444);

/* FAULT_NAMED - the name of a function in traces and stacks: the module's, and this behind it */
#define FAULT_NAMED(end) __asm__(KBUILD_MODNAME end)

/* By so much the bystander's time begins before the fault and ends after it. */
#define FAULT_BESIDE_NS 50000

static struct task_struct *fault_bystander;
static u64 fault_beside_end_ns;

static inline bool fault_is_measured(const struct task_struct *task)
{
	return task->mm && task->policy == SCHED_FIFO && task->rt_priority == measured &&
	       task->pid != task->tgid;
}

/* fault_measured - the measured thread on that CPU, to be put back; NULL: it is not there yet */
static inline struct task_struct *fault_measured(void)
{
	struct task_struct *process, *task, *match = NULL;

	rcu_read_lock();
	for_each_process_thread(process, task) if (!match && fault_is_measured(task) &&
						   task_cpu(task) == cpu) match = task;
	if (match)
		get_task_struct(match);
	rcu_read_unlock();
	return match;
}

static inline int fault_bystander_run(void *unused)
{
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		if (ktime_get_ns() >= READ_ONCE(fault_beside_end_ns)) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		while (ktime_get_ns() < READ_ONCE(fault_beside_end_ns) && !kthread_should_stop())
			cond_resched();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* fault_beside_until - the bystander is busy until that time */
static inline void fault_beside_until(u64 end_ns)
{
	WRITE_ONCE(fault_beside_end_ns, end_ns);
	wake_up_process(fault_bystander);
}

/* fault_beside_begin - lets the bystander begin; returns when it is time for the fault */
static inline u64 fault_beside_begin(void)
{
	u64 at_ns = ktime_get_ns() + FAULT_BESIDE_NS;

	fault_beside_until(at_ns + fault_size_ns() + FAULT_BESIDE_NS);
	return at_ns;
}

/* fault_beside - the same, and sleeps until then */
static inline void fault_beside(void)
{
	ktime_t at = ns_to_ktime(fault_beside_begin());

	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
}

static inline int fault_beside_start(void)
{
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	fault_bystander = kthread_create(fault_bystander_run, NULL, KBUILD_MODNAME "_b");
	if (IS_ERR(fault_bystander))
		return PTR_ERR(fault_bystander);
	kthread_bind(fault_bystander, cpu);
	wake_up_process(fault_bystander);
	return 0;
}

static inline void fault_beside_stop(void)
{
	kthread_stop(fault_bystander);
}

/* fault_address - of a function of the kernel that modules are not given; NULL: there is none */
static inline void *fault_address(const char *name)
{
	struct kprobe probe = {.symbol_name = name};

	if (register_kprobe(&probe) != 0)
		return NULL;
	unregister_kprobe(&probe);
	return probe.addr;
}

/* fault_tracepoint - of that name; NULL: there is none */
struct fault_tracepoint {
	const char *name;
	struct tracepoint *match;
};

static inline void fault_tracepoint_is(struct tracepoint *tracepoint, void *wanted)
{
	struct fault_tracepoint *search = wanted;

	if (!strcmp(tracepoint->name, search->name))
		search->match = tracepoint;
}

static inline struct tracepoint *fault_tracepoint(const char *name)
{
	struct fault_tracepoint search = {.name = name};

	for_each_kernel_tracepoint(fault_tracepoint_is, &search);
	return search.match;
}

#endif
