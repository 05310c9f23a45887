/* SPDX-License-Identifier: MIT */
/*
 * The state machine of bulk_work.h over remedy_lock.h, for spin: BULKS workers with ITEMS items each,
 * and OTHERS who take the lock CALLS times each, at any moment.
 *
 * An item costs 1 to WORST, whatever it likes. What holds, in all states:
 * - there is a single holder, and each item is done once, in order;
 * - whoever waits is delayed by bulk work for at most LEAST items of each worker, by CHUNK where nobody
 *   asks whether somebody waits (-DNO_WANTED): `hold` of bulk_work_latency() at its maximum;
 * - all who wait when a chunk ends are served before that worker's next chunk;
 * - a chunk that nobody waits for is not cut short;
 * - nobody waits for ever: with no cycle of states (pan -l), all runs end, and they end with
 *   all work done and everybody served.
 *
 * A wait is a guard: a poll changes nothing. What the lock protects is seen under it alone, so that
 * steps of a holder are one where no other process can see anything in between.
 *
 * Weaker machines, which must fail: -DBOUND_LESS (the bound is smaller by 1: it is reached),
 * -DTWO_TURNS (tickets are read, then written), -DNO_TAKE (the worker does not wait for its turn), -DUNFAIR
 * (a lock without order), -DBLIND (the worker looks, and goes on), -DLOOK_FIRST (it looks before the items, not
 * after), -DWANTED_SELF (the holder counts as a waiter), -DGIVE_TWICE (the turn skips a ticket),
 * -DNO_GIVE (the lock is kept at the end).
 */
#ifndef BULKS
#define BULKS 1
#endif
#ifndef OTHERS
#define OTHERS 3
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef ITEMS
#define ITEMS 6
#endif
#ifndef CHUNK
#define CHUNK 4
#endif
#ifndef LEAST
#define LEAST 2
#endif
#ifndef WORST
#define WORST 2
#endif

#ifdef NO_WANTED
#define STEP CHUNK
#else
#define STEP LEAST
#endif
#ifdef BOUND_LESS
#define BOUND (BULKS * STEP * WORST - 1)
#else
#define BOUND (BULKS * STEP * WORST)
#endif

#define TASKS	   (BULKS + OTHERS)
#define TURN(turn) ((turn) & 15)
#define BIT(task)  (1 << (task))

byte tickets, turn; /* of the lock; modulo 16 */
bool locked;	    /* -DUNFAIR */
byte holders;
byte waiting;	    /* the set of those who wait */
byte owed[BULKS];   /* those who waited when the worker's chunk ended, and still do */
byte delay[TASKS];  /* what bulk work cost while it waits */

/* come - draw a ticket, and wait from now on */
inline come(task)
{
#ifdef TWO_TURNS
	ticket = tickets;
	atomic {
		tickets = TURN(ticket + 1);
		waiting = waiting | BIT(task)
	}
#else
	atomic {
		ticket = tickets;
		tickets = TURN(tickets + 1);
		waiting = waiting | BIT(task)
	}
#endif
}

/* enter - hold the lock; only in an atomic step whose guard is that it is free for this task */
inline enter(task)
{
	locked = true;
	assert(holders == 0);
	holders++;
	ticket = 0;
	waiting = waiting & ~BIT(task);
	delay[task] = 0;
	for (i : 0 .. BULKS - 1) {
		owed[i] = owed[i] & ~BIT(task)
	}
	i = 0
}

inline give()
{
	holders--;
	locked = false;
#ifdef GIVE_TWICE
	turn = TURN(turn + 2)
#else
	turn = TURN(turn + 1)
#endif
}

#ifdef UNFAIR
#define MAY_ENTER (!locked)
#define IS_WANTED (waiting != 0)
#else
#define MAY_ENTER (turn == ticket)
#ifdef WANTED_SELF
#define IS_WANTED (TURN(tickets - turn + 16) > 0)
#else
#define IS_WANTED (TURN(tickets - turn + 16) > 1)
#endif
#endif

/* look - ask whether somebody waits */
inline look()
{
#if defined(NO_WANTED) || defined(BLIND)
	wanted = false
#else
	wanted = IS_WANTED
#endif
}

/* do_item - all who wait are delayed by its cost */
inline do_item()
{
	if
	:: cost = 1
	:: cost = WORST
	fi;
	for (i : 0 .. TASKS - 1) {
		if
		:: i >= BULKS && (waiting & BIT(i)) ->
			delay[i] = delay[i] + cost;
			assert(delay[i] <= BOUND)
		:: else
		fi
	}
	i = 0;
	cost = 0;
	assert(holders == 1);
	at++;
	held++;
	left--
}

proctype bulk(byte self)
{
	byte at, held, left, ticket, i, cost;
	bool wanted;

	do
	:: at < ITEMS ->
		come(self);
		atomic {
#ifndef NO_TAKE
			MAY_ENTER ->
#endif
			enter(self);
			/* Who waited when the last chunk ended was served. */
			assert(owed[self] == 0)
		}
		do
		:: atomic { at < ITEMS && held < CHUNK && !wanted ->
			left = (STEP < CHUNK - held -> STEP : CHUNK - held);
			left = (left < ITEMS - at -> left : ITEMS - at)
#ifdef LOOK_FIRST
			look()
#endif
		   }
		   do
		   :: atomic { left -> do_item() }
		   :: atomic { !left -> break }
		   od;
#ifndef LOOK_FIRST
		   look()
#endif
		:: else -> break
		od;
		atomic {
			assert(held == CHUNK || at == ITEMS || waiting);
			owed[self] = waiting;
			held = 0;
			wanted = false;
#ifdef NO_GIVE
			if
			:: at < ITEMS -> give()
			:: else
			fi
#else
			give()
#endif
		}
	:: else -> break
	od;
	assert(at == ITEMS)
}

proctype other(byte self)
{
	byte ticket, calls, i;

	do
	:: calls < CALLS ->
		come(self);
		atomic {
			MAY_ENTER ->
			enter(self);
			calls++
		}
		atomic { give() }
	:: else -> break
	od
}

init
{
	byte i;

	atomic {
		for (i : 0 .. BULKS - 1) {
			run bulk(i)
		}
		for (i : BULKS .. TASKS - 1) {
			run other(i)
		}
		i = 0
	}
}
