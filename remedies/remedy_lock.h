/* SPDX-License-Identifier: MIT */
/*
 * remedy_lock - a spin lock that serves in the order of arrival and knows whether somebody waits
 *
 * Contract
 * - Callers. Any context, unless it may interrupt the holder on its CPU: disable interrupts where a
 *   handler takes the lock too.
 * - Progress. Whoever waits is served after those who came before, so that holders who end are
 *   enough for everybody to end. At most 2^32 - 1 wait at once.
 * - Memory order. The holder sees all that earlier holders did.
 */
#ifndef REMEDY_LOCK_H
#define REMEDY_LOCK_H

#include "remedy_atomic.h"

/*
 * The orders.
 *
 *     TAKE  the holder's accesses come after the turn that let it in. Pairs with GIVE.
 *     GIVE  the holder's accesses come before the next turn.
 */
#ifndef REMEDY_LOCK_TAKE
#define REMEDY_LOCK_TAKE acquire
#endif
#ifndef REMEDY_LOCK_GIVE
#define REMEDY_LOCK_GIVE release
#endif

/* A lock that serves in the order of arrival and knows whether somebody waits. */
struct remedy_lock {
	REMEDY_ATOMIC(uint32_t) tickets; /* the next that is handed out */
	REMEDY_ATOMIC(uint32_t) turn;	 /* the ticket that holds the lock, or may take it */
};

static inline void remedy_lock_init(struct remedy_lock *lock)
{
	REMEDY_STORE(&lock->tickets, 0u, relaxed);
	REMEDY_STORE(&lock->turn, 0u, relaxed);
}

/* remedy_lock_take - wait for one's turn; not from a handler that may interrupt the holder */
static inline void remedy_lock_take(struct remedy_lock *lock)
{
	uint32_t ticket = REMEDY_ADD(&lock->tickets, 1u, relaxed);

	while (REMEDY_LOAD(&lock->turn, REMEDY_LOCK_TAKE) != ticket)
		REMEDY_RELAX();
}

static inline void remedy_lock_give(struct remedy_lock *lock)
{
	/* Nobody but the holder writes it. */
	uint32_t turn = REMEDY_LOAD(&lock->turn, relaxed);

	REMEDY_STORE(&lock->turn, turn + 1, REMEDY_LOCK_GIVE);
}

/* remedy_lock_is_wanted - whether somebody waits; for the holder. A hint: it orders nothing */
static inline int remedy_lock_is_wanted(const struct remedy_lock *lock)
{
	return REMEDY_LOAD(&lock->tickets, relaxed) - REMEDY_LOAD(&lock->turn, relaxed) > 1;
}

#endif
