// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel module that runs asid.h on all CPUs beside a naive model of their TLBs.
 *
 * A thread on each CPU switches between address spaces at random, with interrupts disabled. A TLB
 * holds, by identifier, the address space whose translations were put there, until it is flushed.
 * It is wrong if an identifier is loaded under which a TLB has another address space. With
 * broken, flushes do nothing: then it must be wrong. The log in debugfs has a line for each run:
 *
 *	BITS SHARED BROKEN SWITCHES GENERATIONS WRONG
 */
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "asid.h"

#define CPUS	 2u
#define SWITCHES 3000u
#define IDS	 256u
#define SPACES	 400u

struct run {
	uint bits, spaces;
	bool shared, broken;
	u64 switches, generations, wrong;
};

static struct run runs[] = {
    {3, 16, false, false},    {3, 16, true, false}, {8, SPACES, false, false},
    {8, SPACES, true, false}, {3, 16, false, true}, {3, 16, true, true},
};

static struct run *now;
static struct asid_allocator ids;
static struct asid_cpu cpus[CPUS];
static u64 used[ASID_WORDS(8)], kept[ASID_WORDS(8)];
static struct asid_context spaces[SPACES];
/* Of each CPU, or the first one of all: the index of the address space + 1; 0: nothing. */
static u32 tlb[CPUS][IDS];
static struct {
	u32 number, space;
} loaded[CPUS];
static u64 wrong[CPUS];
static struct completion ended[CPUS];
static struct dentry *file;

/* fill - the TLB of a CPU takes a translation of what is loaded, as it may at any time */
static void fill(u32 cpu)
{
	u32 was;

	if (!loaded[cpu].space)
		return;
	was = xchg(&tlb[now->shared ? 0 : cpu][loaded[cpu].number], loaded[cpu].space);
	wrong[cpu] += was && was != loaded[cpu].space;
}

static void flush_local(void *unused, u32 cpu)
{
	u32 number;

	for (number = 0; !now->broken && number < IDS; number++)
		xchg(&tlb[now->shared ? 0 : cpu][number], 0);
}

static void park(void *unused, u32 cpu)
{
	fill(cpu);
	loaded[cpu].space = 0;
}

static void install(void *unused, u32 cpu, u32 number, struct asid_context *space)
{
	fill(cpu);
	wrong[cpu] += !number || number >= 1u << now->bits;
	loaded[cpu].number = number % IDS;
	loaded[cpu].space = (u32)(space - spaces) + 1;
	fill(cpu);
}

static int switch_often(void *number)
{
	u32 cpu = (u32)(uintptr_t)number, random = cpu + 1, i;
	unsigned long flags;

	for (i = 0; i < SWITCHES; i++) {
		/* Xorshift (Marsaglia 2003). */
		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		local_irq_save(flags);
		asid_switch(&ids, cpu, &spaces[random % now->spaces]);
		local_irq_restore(flags);
		if (i % 64 == 0)
			cond_resched();
	}
	complete(&ended[cpu]);
	return 0;
}

static int carry_out(struct run *run)
{
	static const struct asid_hooks hooks = {NULL, flush_local, park, install, NULL};
	struct task_struct *task;
	u32 cpu;

	now = run;
	memset(spaces, 0, sizeof(spaces));
	memset(tlb, 0, sizeof(tlb));
	memset(loaded, 0, sizeof(loaded));
	memset(wrong, 0, sizeof(wrong));
	if (!asid_init(&ids, &hooks, run->bits, 1, used, kept, cpus, CPUS, run->shared))
		return -EINVAL;
	for (cpu = 0; cpu < CPUS; cpu++) {
		init_completion(&ended[cpu]);
		task = kthread_create(switch_often, (void *)(uintptr_t)cpu, "asid_check/%u", cpu);
		if (IS_ERR(task))
			return PTR_ERR(task);
		kthread_bind(task, cpu);
		wake_up_process(task);
	}
	for (cpu = 0; cpu < CPUS; cpu++) {
		wait_for_completion(&ended[cpu]);
		run->wrong += wrong[cpu];
	}
	run->switches = (u64)CPUS * SWITCHES;
	run->generations = ids.rollovers;
	return 0;
}

static int results_show(struct seq_file *log, void *unused)
{
	uint i;

	for (i = 0; i < ARRAY_SIZE(runs); i++)
		seq_printf(log, "%u %u %u %llu %llu %llu\n", runs[i].bits, runs[i].shared,
			   runs[i].broken, runs[i].switches, runs[i].generations, runs[i].wrong);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static int __init begin(void)
{
	uint i;

	if (!cpu_online(CPUS - 1))
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(runs); i++) {
		int error = carry_out(&runs[i]);

		if (error)
			return error;
	}
	file = debugfs_create_file("asid_check", 0444, NULL, NULL, &results_fops);
	return 0;
}

static void __exit end(void)
{
	debugfs_remove(file);
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL");
