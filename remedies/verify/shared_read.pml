/* SPDX-License-Identifier: MIT */
/*
 * The state machine of shared_read.h, for spin: READERS callers who call again and again.
 *
 * Time is not counted. Each value has a set of callers whose present call began before it was
 * sampled (`fresh`) and one of those whose call began before it was published (`recent`): a call
 * that begins takes its caller out of all sets, a sample puts all in. The sequence wraps after 16,
 * so that a caller is often lapped. Nothing but differences of sequences counts: they are kept relative
 * to the even one before the present, so that states that differ by a shift are one. Patience may end at
 * any moment.
 *
 * Weaker machines, which must fail: -DJOIN_ANY (strict shares the read that goes on), -DNO_LEADER
 * (two may lead at once), -DPUBLISH_FIRST (the sequence before the value), -DSAMPLE_FIRST (the
 * sample before the sequence is odd).
 */
#ifndef READERS
#define READERS 3
#endif
#define ALL		((1 << READERS) - 1)
#define NEXT(number)	((number) & 15)
/* The signed difference of two sequences is not negative. */
#define REACHED(is, need) (NEXT((is) + 16 - (need)) < 8)

#define NO_CALL 16

byte sequence;
byte value_fresh = 0, value_recent = 0;
byte sample[READERS]; /* the set of a leader's sample */
byte seen[READERS];
byte need[READERS]; /* NO_CALL: the reader waits for nothing */

/* shift - the sequence has changed: count from the last even one again; only in an atomic step */
inline shift()
{
	if
	:: sequence > 1 ->
		for (other : 0 .. READERS - 1) {
			if
			:: need[other] != NO_CALL ->
				seen[other] = NEXT(seen[other] + 16 - (sequence & 14));
				need[other] = NEXT(need[other] + 16 - (sequence & 14))
			:: else
			fi
		}
		other = 0;
		sequence = sequence & 1
	:: else
	fi
}

inline begin_call(self)
{
	atomic {
		value_fresh = value_fresh & ~(1 << self);
		value_recent = value_recent & ~(1 << self);
		for (other : 0 .. READERS - 1) {
			sample[other] = sample[other] & ~(1 << self);
		}
		other = 0;
		if
		:: strict = true
		:: strict = false
		fi
	}
}

inline end_call(self)
{
	sample[self] = 0;
	seen[self] = 0;
	need[self] = NO_CALL;
	leads = false;
	strict = false
}

proctype reader(byte self)
{
	byte other;
	bool strict, leads;

	do
	:: begin_call(self);
	   atomic {
		   seen[self] = sequence;
#ifdef JOIN_ANY
		   need[self] = NEXT(sequence + 2) & 14;
#else
		   need[self] = (strict -> NEXT(sequence + 3) & 14 : NEXT(sequence + 2) & 14);
#endif
	   }
	   do
	   :: atomic {
		   REACHED(seen[self], need[self]) ->
		   assert(!strict || (value_fresh & (1 << self)));
		   assert(value_recent & (1 << self));
		   end_call(self);
		   break
	   }
	   :: atomic {
		   !REACHED(seen[self], need[self]) ->
		   leads = false;
#ifdef SAMPLE_FIRST
		   if
		   :: seen[self] % 2 == 0 -> sample[self] = ALL
		   :: else
		   fi
	   }
	   atomic {
#endif
		   if
#ifdef NO_LEADER
		   :: seen[self] % 2 == 0 ->
#else
		   :: seen[self] % 2 == 0 && sequence == seen[self] ->
#endif
			   sequence = NEXT(seen[self] + 1);
			   leads = true;
			   shift()
		   :: else
		   fi
	   }
	   if
	   :: leads ->
#ifndef SAMPLE_FIRST
		   sample[self] = ALL;
#endif
#ifdef PUBLISH_FIRST
		   atomic {
			   sequence = NEXT(seen[self] + 2);
			   shift()
		   }
#endif
		   /* A value is recent from when it is stored until a call begins, and
		    * again when its sequence is published. */
		   atomic {
			   value_fresh = sample[self];
			   value_recent = ALL;
			   assert(sample[self] & (1 << self))
		   }
		   atomic {
#ifndef PUBLISH_FIRST
			   sequence = NEXT(seen[self] + 2);
			   shift();
			   value_recent = ALL;
#endif
			   end_call(self);
			   break
		   }
	   :: atomic {
		   !leads ->
		   /* Patience is at its end: the device is read, which is always fresh. */
		   end_call(self);
		   break
	   }
	   :: atomic { !leads -> seen[self] = sequence }
	   fi
	   od
	od
}

init
{
	byte i;

	atomic {
		for (i : 0 .. READERS - 1) {
			need[i] = NO_CALL;
			run reader(i)
		}
		i = 0
	}
}
