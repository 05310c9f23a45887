// SPDX-License-Identifier: MIT
/*
 * asid_sequences exhaustive DEPTH | random STEPS SEED - run asid.h beside a naive model of TLBs
 *
 * The model knows nothing of generations: each CPU has a table of what its TLB holds, filled at
 * each switch, emptied by each flush. In each step a CPU switches, a translation is taken away, an
 * identifier is pinned or unpinned, or an address space ends and another begins in its place. The
 * TLB must never hold, under the identifier that is loaded, anything of another address space, nor
 * what was taken away. Prints how many steps and generations there were; 1 where that failed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../asid.h"
#include "sequences.h"

#define MOST_CPUS   4u
#define MOST_SPACES 16u
#define MOST_IDS    16u

struct entry {
	uint64_t name; /* of the address space; 0: none */
	uint64_t version;
};

struct machine {
	struct asid_allocator ids;
	struct asid_cpu cpu[MOST_CPUS];
	uint64_t used[1], kept[1];
	struct asid_context space[MOST_SPACES];
	struct entry truth[MOST_SPACES]; /* what its tables have now */
	struct entry tlb[MOST_CPUS][MOST_IDS];
	uint32_t loaded[MOST_CPUS]; /* the index of its address space + 1 */
	uint32_t cpus, spaces, pinned;
	uint64_t names;
	bool wrong;
};

static void flush_local(void *context, uint32_t cpu)
{
	struct machine *machine = context;

	memset(machine->tlb[machine->ids.shared_tlb ? 0 : cpu], 0, sizeof(machine->tlb[0]));
}

static void park(void *context, uint32_t cpu)
{
	((struct machine *)context)->loaded[cpu] = 0;
}

static void install(void *context, uint32_t cpu, uint32_t number, struct asid_context *space)
{
	struct machine *machine = context;
	size_t index = (size_t)(space - machine->space);
	struct entry *entry = &machine->tlb[machine->ids.shared_tlb ? 0 : cpu][number];

	machine->loaded[cpu] = (uint32_t)index + 1;
	if (!number || number >= 1u << machine->ids.bits)
		machine->wrong = true;
	if (entry->name && (entry->name != machine->truth[index].name ||
			    entry->version != machine->truth[index].version))
		machine->wrong = true;
	*entry = machine->truth[index];
	/* Whoever runs it elsewhere must have it under the same identifier, and nobody another. */
	for (uint32_t other = 0; other < machine->cpus; other++)
		if (other != cpu && machine->loaded[other]) {
			const struct asid_context *theirs =
			    &machine->space[machine->loaded[other] - 1];
			bool same = asid_number_(&machine->ids, theirs->id) == number;

			if (same != (theirs == space))
				machine->wrong = true;
		}
}

static void begin(struct machine *machine, uint32_t bits, uint32_t cpus, uint32_t spaces,
		  int shared_tlb)
{
	struct asid_hooks hooks = {machine, flush_local, park, install, NULL};

	memset(machine, 0, sizeof(*machine));
	machine->cpus = cpus;
	machine->spaces = spaces;
	for (uint32_t i = 0; i < spaces; i++)
		machine->truth[i].name = ++machine->names;
	if (!asid_init(&machine->ids, &hooks, bits, 1, machine->used, machine->kept, machine->cpu,
		       cpus, shared_tlb))
		abort();
}

static void take_away(struct machine *machine, uint32_t index)
{
	uint32_t number;

	machine->truth[index].version++;
	number = asid_to_invalidate(&machine->ids, &machine->space[index]);
	for (uint32_t cpu = 0; number && cpu < machine->cpus; cpu++)
		memset(&machine->tlb[cpu][number], 0, sizeof(struct entry));
}

static bool is_loaded(const struct machine *machine, uint32_t index)
{
	for (uint32_t cpu = 0; cpu < machine->cpus; cpu++)
		if (machine->loaded[cpu] == index + 1)
			return true;
	return false;
}

/* replace - end an address space that no CPU runs; another begins in its memory */
static void replace(struct machine *machine, uint32_t index)
{
	struct asid_context *space = &machine->space[index];

	if (is_loaded(machine, index) || space->pins)
		return;
	memset(space, 0, sizeof(*space));
	machine->truth[index] = (struct entry){++machine->names, 0};
}

static void pin(struct machine *machine, uint32_t index, bool on)
{
	struct asid_context *space = &machine->space[index];
	uint32_t before = asid_number_(&machine->ids, space->id), number;
	bool was_pinned = space->pins != 0;

	if (!on) {
		asid_unpin(&machine->ids, space);
		return;
	}
	number = asid_pin(&machine->ids, space);
	if (was_pinned && number != before)
		machine->wrong = true;
}

/* kinds - how many different steps there are */
static uint32_t kinds(const struct machine *machine)
{
	return machine->spaces * (machine->cpus + 4);
}

static void step(struct machine *machine, uint32_t kind)
{
	uint32_t index = kind % machine->spaces, what = kind / machine->spaces;

	if (what < machine->cpus)
		asid_switch(&machine->ids, what, &machine->space[index]);
	else if (what == machine->cpus)
		take_away(machine, index);
	else if (what == machine->cpus + 1)
		replace(machine, index);
	else
		pin(machine, index, what == machine->cpus + 2);
}

static int exhaustive(uint32_t depth, int shared_tlb)
{
	struct machine machine;
	uint64_t sequences = 0, steps = 0, generations = 0;
	uint32_t kind[MOST_DEPTH] = {0}, count, at;

	if (!depth || depth > MOST_DEPTH)
		return 2;
	do {
		begin(&machine, 2, 2, 3, shared_tlb);
		count = kinds(&machine);
		for (at = 0; at < depth && !machine.wrong; at++)
			step(&machine, kind[at]);
		sequences++;
		steps += at;
		generations += machine.ids.rollovers;
		if (machine.wrong)
			return wrong_after_kinds(kind, at);
	} while (next_sequence(kind, depth, count));
	printf("%llu sequences, %llu steps, %llu generations\n", (unsigned long long)sequences,
	       (unsigned long long)steps, (unsigned long long)generations);
	return 0;
}

static int randomly(uint64_t steps, uint64_t random, int shared_tlb)
{
	struct machine machine;
	uint64_t generations = 0;

	random |= 1;
	begin(&machine, 4, 4, 16, shared_tlb);
	for (uint64_t i = 0; i < steps; i++) {
		random = next_random(random);
		step(&machine, (uint32_t)((random >> 20) % kinds(&machine)));
		if (machine.wrong)
			return wrong_after(i + 1);
		generations = machine.ids.rollovers;
	}
	printf("%llu steps, %llu generations\n", (unsigned long long)steps,
	       (unsigned long long)generations);
	return 0;
}

int main(int count, char **words)
{
	int status = 2;

	for (int shared_tlb = 0; shared_tlb < 2; shared_tlb++) {
		if (count == 3 && !strcmp(words[1], "exhaustive"))
			status = exhaustive((uint32_t)strtoul(words[2], NULL, 10), shared_tlb);
		else if (count == 4 && !strcmp(words[1], "random"))
			status = randomly(strtoull(words[2], NULL, 10),
					  strtoull(words[3], NULL, 10), shared_tlb);
		if (status)
			break;
	}
	if (status == 2)
		fprintf(stderr, "usage: asid_sequences exhaustive DEPTH | random STEPS SEED\n");
	return status;
}
