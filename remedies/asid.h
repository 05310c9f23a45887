/* SPDX-License-Identifier: MIT */
/*
 * asid - address-space identifiers from one set for all CPUs, in generations (Arm, RISC-V)
 *
 * A TLB tags translations by an identifier, so that a switch need not flush it. There are 2^8 or
 * 2^16 of them, and more address spaces. When all are used a new generation begins: the identifiers
 * of what runs just now are kept, all others are free, and each CPU flushes its TLB once before it
 * runs anything of the new generation.
 *
 *     asid_switch()         run an address space on this CPU
 *     asid_to_invalidate()  the identifier to invalidate after a translation was taken away
 *     asid_pin(), _unpin()  keep an identifier over generations (an IOMMU that shares the tables)
 *
 * For identifiers that each CPU hands out for itself (x86) see asid_turns.h.
 *
 * Contract
 * - Callers. asid_switch(): with interrupts disabled, on the CPU that it names; all others: any
 *   context in which no asid_switch() of the same CPU is interrupted. An asid_context begins as
 *   all zeros, and may be thrown away when no CPU runs it and nobody pins it.
 * - What is kept. (1) Two address spaces whose translations a TLB may hold never have one
 *   identifier there. (2) After a translation was taken away and asid_to_invalidate()'s identifier
 *   was invalidated on all CPUs, no CPU uses it, even where a new generation begins meanwhile. (A
 *   CPU inside asid_switch() may have it until `install`, under an identifier that it flushes
 * before it is used again: it must not touch user memory there.)
 * - Progress. asid_switch() without a new identifier takes no lock. Otherwise it waits for the
 *   lock, whose holders do bounded work: at most a scan of the set and of the CPUs. There is always
 *   a free identifier after a new generation: asid_init() and asid_pin() see to that.
 * - Memory order. The hooks `park` and `install` must be as strong as writing the base register
 *   and an ISB (Arm) or SFENCE.VMA (RISC-V): no walk of an address space before its install, none
 *   after the next park or install.
 * - Generations have 48 bits and more, and do not wrap.
 *
 * Where CPUs share a TLB (CnP, SMT) set `shared_tlb`: then `park` is called before the switch is
 * published. Otherwise this CPU could still fill the shared TLB for the old address space, after
 * another gave its identifier away.
 */
#ifndef ASID_H
#define ASID_H

#include "remedy_lock.h"

/*
 * The orders. Fields without an atomic type are written under the lock.
 *
 *     WALK    the identifier that an address space has now comes before any walk of its tables.
 *     UNMAP   the translation that was taken away comes before the look at the identifier. With
 *             WALK: either the look sees the new identifier, or the walk no longer sees the
 *             translation (store buffering).
 */
#ifndef ASID_WALK
#define ASID_WALK seq_cst
#endif
#ifndef ASID_UNMAP
#define ASID_UNMAP seq_cst
#endif

/* 64-bit words of a set of identifiers. */
#define ASID_WORDS(bits) (((1u << (bits)) + 63) / 64)

/* An address space. All zeros: it has no identifier yet. */
struct asid_context {
	REMEDY_ATOMIC(uint64_t) id; /* generation and identifier */
	uint32_t pins;
};

/* What a CPU runs. Each on its own cache line, where the caller can. */
struct asid_cpu {
	REMEDY_ATOMIC(uint64_t) active; /* 0: a new generation began since its last switch */
	uint64_t reserved;		/* what it ran when the generation began */
	uint32_t must_flush;
};

/* What the allocator calls, each with `context`; on the CPU that it names. */
struct asid_hooks {
	void *context;
	/* Invalidate all translations with identifiers in the TLB of this CPU, and wait for it. */
	void (*flush_local)(void *context, uint32_t cpu);
	/* Write the base register: tables with no translation. Only called with shared_tlb. */
	void (*park)(void *context, uint32_t cpu);
	/* Write identifier and tables of this address space. */
	void (*install)(void *context, uint32_t cpu, uint32_t number, struct asid_context *space);
	/* For errata: called after each install; ThunderX's 27456 invalidates the I-cache. Or NULL
	 */
	void (*after_install)(void *context, uint32_t cpu);
};

struct asid_allocator {
	struct asid_hooks hooks;
	struct asid_cpu *cpu;
	uint32_t cpus;
	uint32_t bits;
	uint32_t first;	 /* identifiers below are the caller's own; at least 1 */
	uint32_t pinned; /* how many are */
	uint32_t cursor; /* where the search for a free identifier begins */
	uint32_t shared_tlb;
	uint64_t *used;	    /* in this generation: ASID_WORDS(bits) words */
	uint64_t *kept;	    /* pinned, in all generations: as many */
	uint64_t rollovers; /* new generations so far */
	struct remedy_lock lock;
	REMEDY_ATOMIC(uint64_t) generation; /* in steps of 1 << bits */
};

static inline uint32_t asid_number_(const struct asid_allocator *ids, uint64_t id)
{
	return (uint32_t)(id & ((1u << ids->bits) - 1));
}

static inline void asid_add_(uint64_t *set, uint32_t number)
{
	set[number / 64] |= 1ull << number % 64;
}

static inline void asid_drop_(uint64_t *set, uint32_t number)
{
	set[number / 64] &= ~(1ull << number % 64);
}

static inline int asid_has_(const uint64_t *set, uint32_t number)
{
	return set[number / 64] >> number % 64 & 1;
}

/*
 * asid_init - used, kept: ASID_WORDS(bits) words each; cpu: one for each of `cpus`
 *
 * bits: 1 to 16; where a kernel needs two for an address space (KPTI), half of them: give one bit
 * less. first: identifiers 0 to first - 1 are never handed out. Returns 0 where there would not be
 * one more than CPUs: then flush at each switch instead.
 */
static inline int asid_init(struct asid_allocator *ids, const struct asid_hooks *hooks,
			    uint32_t bits, uint32_t first, uint64_t *used, uint64_t *kept,
			    struct asid_cpu *cpu, uint32_t cpus, int shared_tlb)
{
	if (bits < 1 || bits > 16 || first < 1 || !cpus || cpus >= 1u << bits ||
	    first >= (1u << bits) - cpus)
		return 0;
	ids->hooks = *hooks;
	ids->cpu = cpu;
	ids->cpus = cpus;
	ids->bits = bits;
	ids->first = first;
	ids->pinned = 0;
	ids->cursor = first;
	ids->shared_tlb = shared_tlb != 0;
	ids->used = used;
	ids->kept = kept;
	ids->rollovers = 0;
	for (uint32_t word = 0; word < ASID_WORDS(bits); word++)
		used[word] = kept[word] = 0;
	for (uint32_t i = 0; i < cpus; i++) {
		REMEDY_STORE(&cpu[i].active, (uint64_t)0, relaxed);
		cpu[i].reserved = 0;
		/* Whatever ran before may have left translations. */
		cpu[i].must_flush = 1;
	}
	remedy_lock_init(&ids->lock);
	REMEDY_STORE(&ids->generation, (uint64_t)1 << bits, relaxed);
	return 1;
}

/*
 * asid_roll_over_ - begin a generation: what runs keeps its identifier, and each CPU must flush
 *
 * The exchange decides a race with asid_switch(): it made its address space active before, and it
 * is kept, or it sees 0, and waits for the lock. A CPU without a switch since the last rollover
 * still runs what it ran then.
 */
static inline void asid_roll_over_(struct asid_allocator *ids)
{
	uint64_t generation = REMEDY_LOAD(&ids->generation, relaxed) + (1u << ids->bits);

	REMEDY_STORE(&ids->generation, generation, relaxed);
	for (uint32_t word = 0; word < ASID_WORDS(ids->bits); word++)
		ids->used[word] = ids->kept[word];
	for (uint32_t i = 0; i < ids->cpus; i++) {
		uint64_t active = REMEDY_EXCHANGE(&ids->cpu[i].active, (uint64_t)0, relaxed);

		if (!active)
			active = ids->cpu[i].reserved;
		asid_add_(ids->used, asid_number_(ids, active));
		ids->cpu[i].reserved = active;
		ids->cpu[i].must_flush = 1;
	}
	ids->rollovers++;
}

/* asid_free_ - return a free identifier at or after `from`, or 0 */
static inline uint32_t asid_free_(const struct asid_allocator *ids, uint32_t from)
{
	for (uint32_t number = from; number < 1u << ids->bits; number++) {
		if (number % 64 == 0 && ids->used[number / 64] == UINT64_MAX)
			number += 63;
		else if (!asid_has_(ids->used, number))
			return number;
	}
	return 0;
}

/* asid_is_reserved_ - whether a CPU still runs it since a generation began; all such CPUs get the
 * new id, as the address space keeps its identifier */
static inline int asid_is_reserved_(struct asid_allocator *ids, uint64_t old, uint64_t renewed)
{
	int is_reserved = 0;

	for (uint32_t i = 0; i < ids->cpus; i++) {
		/* The whole id: its identifier may be another's in a later generation. */
		if (ids->cpu[i].reserved == old) {
			ids->cpu[i].reserved = renewed;
			is_reserved = 1;
		}
	}
	return is_reserved;
}

/* asid_new_ - return an id of this generation for an address space that has none; with the lock */
static inline uint64_t asid_new_(struct asid_allocator *ids, const struct asid_context *space)
{
	uint64_t old = REMEDY_LOAD(&space->id, relaxed);
	uint64_t generation = REMEDY_LOAD(&ids->generation, relaxed);
	uint32_t number = asid_number_(ids, old);

	if (old) {
		if (asid_is_reserved_(ids, old, generation | number) || space->pins)
			return generation | number;
		if (!asid_has_(ids->used, number)) {
			asid_add_(ids->used, number);
			return generation | number;
		}
	}
	number = asid_free_(ids, ids->cursor);
	if (!number) {
		asid_roll_over_(ids);
		generation = REMEDY_LOAD(&ids->generation, relaxed);
		number = asid_free_(ids, ids->first);
	}
	asid_add_(ids->used, number);
	ids->cursor = number;
	return generation | number;
}

/* asid_is_current_ - whether the id is of this generation */
static inline int asid_is_current_(const struct asid_allocator *ids, uint64_t id)
{
	return (id ^ REMEDY_LOAD(&ids->generation, relaxed)) >> ids->bits == 0;
}

/* asid_renew_ - give the address space an id of this generation where it has none; with the lock */
static inline uint64_t asid_renew_(struct asid_allocator *ids, struct asid_context *space)
{
	uint64_t id = REMEDY_LOAD(&space->id, relaxed);

	if (!asid_is_current_(ids, id)) {
		id = asid_new_(ids, space);
		REMEDY_STORE(&space->id, id, relaxed);
	}
	return id;
}

/*
 * asid_switch - run an address space on this CPU, with interrupts disabled
 *
 * Without the lock: where the id is of this generation, and no new one begins before it is active.
 */
static inline void asid_switch(struct asid_allocator *ids, uint32_t cpu, struct asid_context *space)
{
	struct asid_cpu *own = &ids->cpu[cpu];
	uint64_t active, id;

	if (ids->shared_tlb)
		ids->hooks.park(ids->hooks.context, cpu);
	id = REMEDY_LOAD(&space->id, relaxed);
	active = REMEDY_LOAD(&own->active, relaxed);
	if (!active || !asid_is_current_(ids, id) ||
	    !REMEDY_CAS(&own->active, &active, id, relaxed)) {
		remedy_lock_take(&ids->lock);
		id = asid_renew_(ids, space);
		if (own->must_flush) {
			own->must_flush = 0;
			ids->hooks.flush_local(ids->hooks.context, cpu);
		}
		REMEDY_STORE(&own->active, id, relaxed);
		remedy_lock_give(&ids->lock);
	}
	REMEDY_FENCE(ASID_WALK);
	ids->hooks.install(ids->hooks.context, cpu, asid_number_(ids, id), space);
	if (ids->hooks.after_install)
		ids->hooks.after_install(ids->hooks.context, cpu);
}

/*
 * asid_to_invalidate - return the identifier whose translations are to be invalidated on all CPUs,
 * or 0: none
 *
 * Call it after the translation was taken out of the tables, and invalidate what it returns
 * without storing it in between. In a new generation it may be another's by then, whose
 * translations are then invalidated in vain.
 */
static inline uint32_t asid_to_invalidate(const struct asid_allocator *ids,
					  struct asid_context *space)
{
	REMEDY_FENCE(ASID_UNMAP);
	return asid_number_(ids, REMEDY_LOAD(&space->id, relaxed));
}

/* asid_pin - keep the identifier until as many asid_unpin(); return it, or 0: too many are pinned
 */
static inline uint32_t asid_pin(struct asid_allocator *ids, struct asid_context *space)
{
	uint32_t number = 0;

	remedy_lock_take(&ids->lock);
	if (space->pins || ids->first + ids->cpus + ids->pinned + 1 < 1u << ids->bits) {
		number = asid_number_(ids, asid_renew_(ids, space));
		if (!space->pins++) {
			ids->pinned++;
			asid_add_(ids->kept, number);
		}
	}
	remedy_lock_give(&ids->lock);
	return number;
}

/* asid_unpin - undo an asid_pin(); the identifier stays the address space's in this generation */
static inline void asid_unpin(struct asid_allocator *ids, struct asid_context *space)
{
	remedy_lock_take(&ids->lock);
	if (space->pins && !--space->pins) {
		ids->pinned--;
		asid_drop_(ids->kept, asid_number_(ids, REMEDY_LOAD(&space->id, relaxed)));
	}
	remedy_lock_give(&ids->lock);
}

#endif
