/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What surrounds a check of a remedy in a kernel: RUNS runs, each with a thread on each of CPUS
 * CPUs that makes STEPS steps, and a log in debugfs that has the module's name.
 *
 * A module defines CPUS, RUNS and STEPS, includes this, and has check_step(), check_run() and
 * results_show().
 */
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/seq_file.h>

static void check_step(u32 cpu, u32 step, u32 random);
static int check_run(u32 number);
static int results_show(struct seq_file *log, void *unused);

static struct completion check_ended[CPUS];
static struct dentry *check_file;

static int check_steps(void *number)
{
	u32 cpu = (u32)(uintptr_t)number, random = cpu + 1, i;

	for (i = 0; i < STEPS; i++) {
		/* Xorshift (Marsaglia 2003). */
		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		check_step(cpu, i, random);
		if (i % 64 == 0)
			cond_resched();
	}
	complete(&check_ended[cpu]);
	return 0;
}

/* step_on_all_cpus - make all steps on each CPU, and wait for their end */
static int step_on_all_cpus(void)
{
	struct task_struct *task;
	u32 cpu;

	for (cpu = 0; cpu < CPUS; cpu++)
		init_completion(&check_ended[cpu]);
	for (cpu = 0; cpu < CPUS; cpu++) {
		task =
		    kthread_create(check_steps, (void *)(uintptr_t)cpu, KBUILD_MODNAME "/%u", cpu);
		if (IS_ERR(task))
			return PTR_ERR(task);
		kthread_bind(task, cpu);
		wake_up_process(task);
	}
	for (cpu = 0; cpu < CPUS; cpu++)
		wait_for_completion(&check_ended[cpu]);
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(results);

static int __init begin(void)
{
	u32 i;

	if (!cpu_online(CPUS - 1))
		return -EINVAL;
	for (i = 0; i < RUNS; i++) {
		int error = check_run(i);

		if (error)
			return error;
	}
	check_file = debugfs_create_file(KBUILD_MODNAME, 0444, NULL, NULL, &results_fops);
	return 0;
}

static void __exit end(void)
{
	debugfs_remove(check_file);
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL");
