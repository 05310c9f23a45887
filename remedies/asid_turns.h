/* SPDX-License-Identifier: MIT */
/*
 * asid_turns - address-space identifiers that each CPU hands out for itself, in turn (x86)
 *
 * Each CPU remembers the last address spaces that it ran, in a few slots; the slot is the
 * identifier. Another address space takes the slot whose turn it is, and its translations are
 * flushed. Nothing is shared between CPUs but a count of changes in each address space: a slot
 * whose count is behind is flushed when it is used again.
 *
 *     turns_switch()   which slot to load, and whether to flush it
 *     turns_changed()  a translation was taken away: interrupts the CPUs that run the address space
 *     turns_refresh()  in that interrupt: whether to flush
 *
 * Contract
 * - Callers. turns_switch(), turns_refresh(): on the CPU whose struct they are given, with
 *   interrupts disabled. turns_changed(): anywhere, any number at once, also for one address space.
 * - What is kept. A slot's translations are all of the address space that is loaded with it. After
 *   turns_changed() returned and the interrupts that it asked for ended, no CPU uses a translation
 *   that was taken away before the call.
 * - Progress. Bounded: no locks and no loops that wait. `interrupt` may wait, as its author likes.
 * - Memory order. Loading the base register after turns_switch() is a full barrier, as it is on
 * x86.
 * - `name` of an address space is never used again, and not 0: count up in 64 bits.
 */
#ifndef ASID_TURNS_H
#define ASID_TURNS_H

#include "remedy_atomic.h"

/* Slots of a CPU. Linux uses 6; before 7 tasks take turns nothing is flushed. */
#ifndef ASID_TURNS
#define ASID_TURNS 6u
#endif

/*
 * The orders.
 *
 *     LOADED   the address space that is loaded comes before the look at its changes.
 *     CHANGED  the change is counted before the look at who has loaded the address space. With
 *              LOADED: either it is seen loaded, and interrupted, or the change is seen (store
 *              buffering).
 *     COUNT    what was taken away comes before the count. Pairs with LOOK.
 *     LOOK     the count comes before walks.
 */
#ifndef ASID_TURNS_LOADED
#define ASID_TURNS_LOADED seq_cst
#endif
#ifndef ASID_TURNS_CHANGED
#define ASID_TURNS_CHANGED seq_cst
#endif
#ifndef ASID_TURNS_COUNT
#define ASID_TURNS_COUNT release
#endif
#ifndef ASID_TURNS_LOOK
#define ASID_TURNS_LOOK acquire
#endif

struct turns_context {
	uint64_t name;
	REMEDY_ATOMIC(uint64_t) changes;
};

struct turns_slot {
	uint64_t name;	  /* 0: empty */
	uint64_t changes; /* up to which its translations are good */
};

struct turns_cpu {
	REMEDY_ATOMIC(uint64_t) loaded; /* the name of what it runs */
	uint32_t turn;
	struct turns_slot slot[ASID_TURNS];
};

struct turns_choice {
	uint32_t slot;
	int flush; /* invalidate all translations of the slot when it is loaded */
};

static inline void turns_init(struct turns_cpu *cpu)
{
	REMEDY_STORE(&cpu->loaded, (uint64_t)0, relaxed);
	cpu->turn = 0;
	for (uint32_t i = 0; i < ASID_TURNS; i++)
		cpu->slot[i].name = cpu->slot[i].changes = 0;
}

static inline void turns_context_init(struct turns_context *space, uint64_t name)
{
	space->name = name;
	REMEDY_STORE(&space->changes, (uint64_t)0, relaxed);
}

/* turns_refresh - whether the slot of what is loaded must be flushed now; in turns_changed()'s
 * interrupt */
static inline struct turns_choice turns_refresh(struct turns_cpu *cpu, struct turns_context *space)
{
	struct turns_choice choice = {ASID_TURNS, 0};
	uint64_t changes = REMEDY_LOAD(&space->changes, ASID_TURNS_LOOK);

	for (uint32_t i = 0; i < ASID_TURNS; i++) {
		if (cpu->slot[i].name == space->name) {
			choice.slot = i;
			choice.flush = cpu->slot[i].changes < changes;
			cpu->slot[i].changes = changes;
		}
	}
	return choice;
}

/* turns_switch - choose the slot for an address space, and note it as loaded */
static inline struct turns_choice turns_switch(struct turns_cpu *cpu, struct turns_context *space)
{
	struct turns_choice choice;

	REMEDY_STORE(&cpu->loaded, space->name, relaxed);
	REMEDY_FENCE(ASID_TURNS_LOADED);
	choice = turns_refresh(cpu, space);
	if (choice.slot == ASID_TURNS) {
		choice.slot = cpu->turn;
		choice.flush = 1;
		cpu->turn = (cpu->turn + 1) % ASID_TURNS;
		cpu->slot[choice.slot].name = space->name;
		cpu->slot[choice.slot].changes = REMEDY_LOAD(&space->changes, ASID_TURNS_LOOK);
	}
	return choice;
}

/*
 * turns_changed - after a translation was taken out of the tables of an address space
 *
 * interrupt: makes that CPU call turns_refresh() and flush, where it still runs it; it need not
 * wait for each, but turns_changed()'s caller for all.
 */
static inline void turns_changed(struct turns_context *space, struct turns_cpu *cpu, uint32_t cpus,
				 void (*interrupt)(void *context, uint32_t cpu), void *context)
{
	REMEDY_ADD(&space->changes, (uint64_t)1, ASID_TURNS_COUNT);
	REMEDY_FENCE_AFTER_RMW(ASID_TURNS_CHANGED);
	for (uint32_t i = 0; i < cpus; i++)
		if (REMEDY_LOAD(&cpu[i].loaded, relaxed) == space->name)
			interrupt(context, i);
}

#endif
