// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's function that wakes a sleeper at the end of its time is hooked, as live patches and
 * function tracers do, and the hook takes size_us: the timer interrupt comes in time and wakes
 * late.
 */
#include <linux/ftrace.h>

#include "fault_module_beside.h"

static void hook(unsigned long ip, unsigned long parent, struct ftrace_ops *unused,
		 struct ftrace_regs *registers) FAULT_NAMED("_f");

/* So long the bystander has the CPU: the measured thread takes it away meanwhile. */
#define AROUND_NS 600000
#define WAKER	  "hrtimer_wakeup"

static struct ftrace_ops ops = {.func = hook, .flags = FTRACE_OPS_FL_SAVE_REGS};
static int armed;

static void hook(unsigned long ip, unsigned long parent, struct ftrace_ops *unused,
		 struct ftrace_regs *registers)
{
	struct pt_regs *regs = ftrace_get_regs(registers);
	struct hrtimer *timer;
	struct task_struct *task;
	u64 start_ns;

	if (!READ_ONCE(armed) || !regs || smp_processor_id() != cpu)
		return;
	timer = (struct hrtimer *)regs_get_kernel_argument(regs, 0);
	task = container_of(timer, struct hrtimer_sleeper, timer)->task;
	if (!task || !fault_is_measured(task))
		return;
	WRITE_ONCE(armed, 0);
	start_ns = ktime_get_ns();
	fault_log(start_ns, fault_spin(start_ns + fault_size_ns()), cpu);
}

static void act(void)
{
	fault_beside_until(ktime_get_ns() + AROUND_NS);
	WRITE_ONCE(armed, 1);
}

static int begin(void)
{
	int error = ftrace_set_filter(&ops, WAKER, sizeof(WAKER) - 1, 1);

	if (!error)
		error = fault_beside_start();
	if (error)
		return error;
	error = register_ftrace_function(&ops);
	if (error)
		fault_beside_stop();
	return error;
}

static void end(void)
{
	unregister_ftrace_function(&ops);
	ftrace_free_filter(&ops);
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
