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
#define CPUS  2u
#define RUNS  6u
#define STEPS 3000u

#include "check_module.h"
#include "asid.h"

#define IDS    256u
#define SPACES 400u

struct run {
	uint bits, spaces;
	bool shared, broken;
	u64 switches, generations, wrong;
};

static struct run runs[RUNS] = {
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

static void check_step(u32 cpu, u32 step, u32 random)
{
	unsigned long flags;

	local_irq_save(flags);
	asid_switch(&ids, cpu, &spaces[random % now->spaces]);
	local_irq_restore(flags);
}

static int check_run(u32 number)
{
	struct run *run = &runs[number];
	static const struct asid_hooks hooks = {NULL, flush_local, park, install, NULL};
	u32 cpu;
	int error;

	now = run;
	memset(spaces, 0, sizeof(spaces));
	memset(tlb, 0, sizeof(tlb));
	memset(loaded, 0, sizeof(loaded));
	memset(wrong, 0, sizeof(wrong));
	if (!asid_init(&ids, &hooks, run->bits, 1, used, kept, cpus, CPUS, run->shared))
		return -EINVAL;
	error = step_on_all_cpus();
	if (error)
		return error;
	for (cpu = 0; cpu < CPUS; cpu++)
		run->wrong += wrong[cpu];
	run->switches = (u64)CPUS * STEPS;
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
