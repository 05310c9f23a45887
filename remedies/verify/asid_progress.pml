/* SPDX-License-Identifier: MIT */
/*
 * Progress of asid.h while generations begin without end, for spin: CPUS that switch again and again.
 *
 * asid.pml has the identifiers, and ends after some generations; here there is no end. What the
 * identifiers decide is free: an address space may need a new identifier, and there may be none free,
 * at any moment, but for what asid.pml and asid.m check: a generation begins with a free one. So each run
 * of asid.h is one of these. The lock is remedy_lock.h's, and CPUs are scheduled fairly (pan -a -f:
 * whoever can go on without end does).
 *
 * What holds: each switch ends; while it waits for the lock each other CPU is served once at most; and
 * it begins one generation at most.
 *
 * Weaker machines, which must fail: -DUNFAIR (a lock without order), -DNO_GIVE (who began a
 * generation keeps the lock), -DDROP_LOCK (it gives the lock up, and looks for an identifier anew: others
 * may have taken all), -DNO_ROLLOVER (it waits until an identifier is free).
 */
#ifndef CPUS
#define CPUS 3
#endif
/* Tickets wrap: fewer wait at once. */
#define TURN(turn) ((turn) & 3)

byte tickets, turn; /* of the lock */
bool locked;
bool live[CPUS];		/* whether it has an id since the last rollover */
bool inside[CPUS];	/* a switch */
bool waits[CPUS];	/* for the lock */
byte overtaken[CPUS];	/* the others that were served while it waits, a set */
byte begun[CPUS];	/* generations that began in this switch */

#ifdef UNFAIR
#define MAY_ENTER (!locked)
#else
#define MAY_ENTER (!locked && turn == ticket)
#endif

ltl each_switch_ends { [] (inside[0] -> <> !inside[0]) }

/* enter - hold the lock; only in an atomic step whose guard is MAY_ENTER */
inline enter(own)
{
	locked = true;
	waits[own] = false;
	overtaken[own] = 0;
	ticket = 0;
	for (i : 0 .. CPUS - 1) {
		if
		:: waits[i] ->
#ifndef UNFAIR
			assert(!(overtaken[i] & (1 << own)));
#endif
			overtaken[i] = overtaken[i] | (1 << own)
		:: else
		fi
	}
	i = 0
}

inline give()
{
	locked = false;
	turn = TURN(turn + 1)
}

proctype cpu(byte self)
{
	byte ticket, i;
	bool fast;

	do
	:: atomic {
		   inside[self] = true;
		   if
		   :: fast = live[self] /* and the address space has an id of this generation */
		   :: fast = false
		   fi
	   }
	   /* Compare and exchange: another CPU may have begun a generation here. */
	   atomic {
		   if
		   :: fast && live[self] -> fast = false; goto installs
		   :: else -> fast = false
		   fi
	   }
takes:
	   atomic {
		   ticket = tickets;
		   tickets = TURN(tickets + 1);
		   waits[self] = true
	   }
	   atomic { MAY_ENTER -> enter(self) }
	   if
	   :: goto settles /* it has an id, keeps its identifier, or there is a free one */
	   :: true	   /* a generation must begin */
	   fi;
#ifdef NO_ROLLOVER
	   false;
#endif
	   begun[self]++;
#ifndef DROP_LOCK
	   assert(begun[self] == 1);
#else
	   begun[self] = 0;
#endif
	   /* The others may still switch here, without the lock. */
	   do
	   :: atomic { i < CPUS -> live[i] = false; i++ }
	   :: atomic { i == CPUS -> i = 0; break }
	   od;
#ifdef DROP_LOCK
	   atomic { give(); goto takes }
#endif
#ifdef NO_GIVE
	   atomic { live[self] = true; turn = TURN(turn + 1); goto installs }
#endif
settles:
	   atomic {
		   live[self] = true;
		   give()
	   }
installs:
	   atomic {
		   inside[self] = false;
		   begun[self] = 0
	   }
	od
}

init
{
	byte i;

	atomic {
		for (i : 0 .. CPUS - 1) {
			run cpu(i)
		}
		i = 0
	}
}
