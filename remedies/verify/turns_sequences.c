// SPDX-License-Identifier: MIT
/*
 * turns_sequences exhaustive DEPTH | random STEPS SEED - run asid_turns.h beside a naive model of
 * TLBs
 *
 * The model knows nothing of counts: each slot of a CPU's TLB has a version of an address space's
 * tables, filled at each switch, emptied by each flush. In each step a CPU switches, a translation
 * is taken away, or an address space ends and another begins in its place. The slot that is loaded
 * must never hold anything of another address space, nor what was taken away; no flush is needless,
 * and a slot is taken in turn. Prints how many steps, new slots and flushes there were; 1 where
 * that failed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../asid_turns.h"
#include "sequences.h"

#define MOST_CPUS   4u
#define MOST_SPACES 16u
#define NO_SPACE    MOST_SPACES

struct entry {
	uint64_t name; /* of the address space; 0: none */
	uint64_t version;
};

struct machine {
	struct turns_cpu cpu[MOST_CPUS];
	struct turns_context space[MOST_SPACES];
	struct entry truth[MOST_SPACES]; /* what its tables have now */
	struct entry tlb[MOST_CPUS][ASID_TURNS];
	uint64_t taken[MOST_CPUS][ASID_TURNS]; /* when the slot was given to an address space */
	uint32_t loaded[MOST_CPUS];	       /* the index of its address space, or NO_SPACE */
	uint32_t cpus, spaces;
	uint64_t names, news, flushes;
	bool wrong;
};

static bool is_true(const struct machine *machine, struct entry entry, uint32_t index)
{
	return entry.name == machine->truth[index].name &&
	       entry.version == machine->truth[index].version;
}

/* flush - empty a slot; it must be empty, or have what the address space no longer has */
static void flush(struct machine *machine, uint32_t cpu, uint32_t slot, uint32_t index)
{
	struct entry *entry = &machine->tlb[cpu][slot];

	if (entry->name && is_true(machine, *entry, index))
		machine->wrong = true;
	*entry = (struct entry){0, 0};
	machine->flushes++;
}

/* take_slot - a slot is given to another address space: the one that has been given the longest */
static void take_slot(struct machine *machine, uint32_t cpu, uint32_t slot)
{
	for (uint32_t other = 0; other < ASID_TURNS; other++)
		if (machine->taken[cpu][other] < machine->taken[cpu][slot])
			machine->wrong = true;
	machine->taken[cpu][slot] = ++machine->news;
}

static void switch_to(struct machine *machine, uint32_t cpu, uint32_t index)
{
	struct turns_choice choice = turns_switch(&machine->cpu[cpu], &machine->space[index]);
	struct entry *entry;

	if (choice.slot >= ASID_TURNS) {
		machine->wrong = true;
		return;
	}
	entry = &machine->tlb[cpu][choice.slot];
	if (entry->name != machine->truth[index].name)
		take_slot(machine, cpu, choice.slot);
	if (choice.flush)
		flush(machine, cpu, choice.slot, index);
	if (entry->name && !is_true(machine, *entry, index))
		machine->wrong = true;
	*entry = machine->truth[index];
	machine->loaded[cpu] = index;
}

/* refresh - the interrupt of a CPU that may run the address space */
static void refresh(void *context, uint32_t cpu)
{
	struct machine *machine = context;
	uint32_t index = machine->loaded[cpu];
	struct turns_choice choice;

	if (index == NO_SPACE)
		return;
	choice = turns_refresh(&machine->cpu[cpu], &machine->space[index]);
	if (choice.slot < ASID_TURNS && choice.flush)
		flush(machine, cpu, choice.slot, index);
}

static void take_away(struct machine *machine, uint32_t index)
{
	machine->truth[index].version++;
	turns_changed(&machine->space[index], machine->cpu, machine->cpus, refresh, machine);
	/* Nobody who runs it may have what was taken away; the TLB fills again. */
	for (uint32_t cpu = 0; cpu < machine->cpus; cpu++)
		for (uint32_t slot = 0; machine->loaded[cpu] == index && slot < ASID_TURNS;
		     slot++) {
			struct entry *entry = &machine->tlb[cpu][slot];

			if (entry->name == machine->truth[index].name &&
			    !is_true(machine, *entry, index))
				machine->wrong = true;
			if (machine->cpu[cpu].slot[slot].name == machine->truth[index].name)
				*entry = machine->truth[index];
		}
}

/* replace - end an address space that no CPU runs; another begins in its memory */
static void replace(struct machine *machine, uint32_t index)
{
	for (uint32_t cpu = 0; cpu < machine->cpus; cpu++)
		if (machine->loaded[cpu] == index)
			return;
	machine->truth[index] = (struct entry){++machine->names, 0};
	turns_context_init(&machine->space[index], machine->names);
}

static void begin(struct machine *machine, uint32_t cpus, uint32_t spaces)
{
	memset(machine, 0, sizeof(*machine));
	machine->cpus = cpus;
	machine->spaces = spaces;
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		turns_init(&machine->cpu[cpu]);
		machine->loaded[cpu] = NO_SPACE;
	}
	for (uint32_t i = 0; i < spaces; i++)
		replace(machine, i);
}

/* kinds - how many different steps there are */
static uint32_t kinds(const struct machine *machine)
{
	return machine->spaces * (machine->cpus + 2);
}

static void step(struct machine *machine, uint32_t kind)
{
	uint32_t index = kind % machine->spaces, what = kind / machine->spaces;

	if (what < machine->cpus)
		switch_to(machine, what, index);
	else if (what == machine->cpus)
		take_away(machine, index);
	else
		replace(machine, index);
}

static int exhaustive(uint32_t depth)
{
	struct machine machine;
	uint64_t sequences = 0, steps = 0, news = 0, flushes = 0;
	uint32_t kind[MOST_DEPTH] = {0}, count, at;

	if (!depth || depth > MOST_DEPTH)
		return 2;
	do {
		begin(&machine, 2, ASID_TURNS + 1);
		count = kinds(&machine);
		for (at = 0; at < depth && !machine.wrong; at++)
			step(&machine, kind[at]);
		sequences++;
		steps += at;
		news += machine.news;
		flushes += machine.flushes;
		if (machine.wrong)
			return wrong_after_kinds(kind, at);
	} while (next_sequence(kind, depth, count));
	printf("%llu sequences, %llu steps, %llu new slots, %llu flushes\n",
	       (unsigned long long)sequences, (unsigned long long)steps, (unsigned long long)news,
	       (unsigned long long)flushes);
	return 0;
}

static int randomly(uint64_t steps, uint64_t random)
{
	struct machine machine;

	random |= 1;
	begin(&machine, MOST_CPUS, MOST_SPACES);
	for (uint64_t i = 0; i < steps; i++) {
		random = next_random(random);
		step(&machine, (uint32_t)((random >> 20) % kinds(&machine)));
		if (machine.wrong)
			return wrong_after(i + 1);
	}
	printf("%llu steps, %llu new slots, %llu flushes\n", (unsigned long long)steps,
	       (unsigned long long)machine.news, (unsigned long long)machine.flushes);
	return 0;
}

int main(int count, char **words)
{
	int status = 2;

	if (count == 3 && !strcmp(words[1], "exhaustive"))
		status = exhaustive((uint32_t)strtoul(words[2], NULL, 10));
	else if (count == 4 && !strcmp(words[1], "random"))
		status = randomly(strtoull(words[2], NULL, 10), strtoull(words[3], NULL, 10));
	if (status == 2)
		fprintf(stderr, "usage: turns_sequences exhaustive DEPTH | random STEPS SEED\n");
	return status;
}
