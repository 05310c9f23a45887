// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel module that runs asid_turns.h on all CPUs beside a naive model of their TLBs.
 *
 * A thread on each CPU switches between address spaces at random, with interrupts disabled, and
 * takes translations away, for which it interrupts the CPUs that run the address space. A slot of a
 * TLB holds a version of an address space's tables, until it is flushed. It is wrong if a CPU uses
 * another address space's, or one that was taken away before. With a fault, slots are not flushed
 * or nobody is interrupted: then it must be wrong. The log in debugfs has a line for each run:
 *
 *	SPACES FAULT SWITCHES CHANGES FLUSHES INTERRUPTS WRONG
 */
#include <linux/smp.h>

#define CPUS  2u
#define RUNS  5u
#define STEPS 3000u

#include "check_module.h"

#include "asid_turns.h"

#define USES   3u
#define SPACES 16u
/* Switches between two changes. */
#define CALM 8u

enum fault { NONE, NO_FLUSH, NO_INTERRUPT };

struct run {
	uint spaces;
	enum fault fault;
	u64 switches, changes, flushes, interrupts, wrong;
};

static struct run runs[RUNS] = {
    {ASID_TURNS, NONE}, {ASID_TURNS + 1, NONE},	    {SPACES, NONE},
    {SPACES, NO_FLUSH}, {ASID_TURNS, NO_INTERRUPT},
};

static struct run *now;
static struct turns_cpu cpus[CPUS];
static struct turns_context spaces[SPACES];
/* What the tables of an address space have, and the least that may be used. */
static atomic64_t version[SPACES], finished[SPACES];
/* Of a CPU, which alone writes to it, with interrupts disabled. */
static struct cpu_state {
	struct {
		u32 space; /* the index + 1; 0: nothing */
		s64 version;
	} tlb[ASID_TURNS];
	u32 space, slot; /* what is loaded */
	u64 changes, flushes, interrupts, wrong;
} states[CPUS];

static void flush_slot(struct cpu_state *state, u32 slot)
{
	state->flushes++;
	if (now->fault != NO_FLUSH)
		state->tlb[slot].space = 0;
}

/* use - the CPU uses a translation of what is loaded, from its tables where the TLB has none */
static void use(struct cpu_state *state)
{
	s64 least = atomic64_read(&finished[state->space]);

	/* What was finished before is not used after. */
	smp_mb();
	if (!state->tlb[state->slot].space) {
		state->tlb[state->slot].version = atomic64_read(&version[state->space]);
		state->tlb[state->slot].space = state->space + 1;
	}
	state->wrong += state->tlb[state->slot].space != state->space + 1 ||
			state->tlb[state->slot].version < least;
}

static void refresh(void *number)
{
	u32 cpu = (u32)(uintptr_t)number;
	struct cpu_state *state = &states[cpu];
	struct turns_choice choice;

	state->interrupts++;
	choice = turns_refresh(&cpus[cpu], &spaces[state->space]);
	if (choice.slot < ASID_TURNS && choice.flush)
		flush_slot(state, choice.slot);
}

static void interrupt(void *unused, u32 cpu)
{
	if (now->fault != NO_INTERRUPT)
		smp_call_function_single(cpu, refresh, (void *)(uintptr_t)cpu, 1);
}

/* change - take a translation away; its callers may come at once for one address space */
static void change(u32 space)
{
	s64 new_version = atomic64_inc_return(&version[space]), old;

	turns_changed(&spaces[space], cpus, CPUS, interrupt, NULL);
	old = atomic64_read(&finished[space]);
	while (old < new_version && !atomic64_try_cmpxchg(&finished[space], &old, new_version))
		;
}

static void switch_to(u32 cpu, u32 space)
{
	struct cpu_state *state = &states[cpu];
	struct turns_choice choice = turns_switch(&cpus[cpu], &spaces[space]);

	/* As the load of the base register does on x86. */
	smp_mb();
	if (choice.flush)
		flush_slot(state, choice.slot);
	state->space = space;
	state->slot = choice.slot;
	use(state);
}

static void check_step(u32 cpu, u32 step, u32 random)
{
	unsigned long flags;
	u32 i;

	local_irq_save(flags);
	switch_to(cpu, random % now->spaces);
	local_irq_restore(flags);
	if (step % CALM == 0) {
		change((random >> 8) % now->spaces);
		states[cpu].changes++;
	}
	for (i = 0; i < USES; i++) {
		local_irq_save(flags);
		use(&states[cpu]);
		local_irq_restore(flags);
	}
}

static int check_run(u32 number)
{
	struct run *run = &runs[number];
	u32 cpu, i;
	int error;

	now = run;
	memset(states, 0, sizeof(states));
	for (i = 0; i < SPACES; i++) {
		turns_context_init(&spaces[i], i + 1);
		atomic64_set(&version[i], 0);
		atomic64_set(&finished[i], 0);
	}
	for (cpu = 0; cpu < CPUS; cpu++)
		turns_init(&cpus[cpu]);
	error = step_on_all_cpus();
	if (error)
		return error;
	for (cpu = 0; cpu < CPUS; cpu++) {
		run->changes += states[cpu].changes;
		run->flushes += states[cpu].flushes;
		run->interrupts += states[cpu].interrupts;
		run->wrong += states[cpu].wrong;
	}
	run->switches = (u64)CPUS * STEPS;
	return 0;
}

static int results_show(struct seq_file *log, void *unused)
{
	uint i;

	for (i = 0; i < ARRAY_SIZE(runs); i++)
		seq_printf(log, "%u %u %llu %llu %llu %llu %llu\n", runs[i].spaces, runs[i].fault,
			   runs[i].switches, runs[i].changes, runs[i].flushes, runs[i].interrupts,
			   runs[i].wrong);
	return 0;
}
