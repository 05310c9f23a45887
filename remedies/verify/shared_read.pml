/* SPDX-License-Identifier: MIT */
/*
 * The state machine of shared_read.h, for spin: READERS callers who call again and again.
 *
 * Time is not counted. Each value has a set of callers whose present call began before it was
 * sampled (`fresh`) and one of those whose call began before it was published (`recent`): a call
 * that begins takes its caller out of all sets, a sample puts all in. The sequence wraps after 16,
 * so that a caller is often lapped. Patience may end at any moment.
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

byte sequence;
byte value_fresh = 0, value_recent = 0;
byte sample[READERS]; /* the set of a leader's sample */

inline begin_call(self)
{
	byte other;

	atomic {
		value_fresh = value_fresh & ~(1 << self);
		value_recent = value_recent & ~(1 << self);
		for (other : 0 .. READERS - 1) {
			sample[other] = sample[other] & ~(1 << self);
		}
		other = 0;
	}
}

proctype reader(byte self)
{
	byte seen, need;
	bool strict, leads;

progress:
	do
	:: begin_call(self);
	   if
	   :: strict = true
	   :: strict = false
	   fi;
	   atomic {
		   seen = sequence;
#ifdef JOIN_ANY
		   need = NEXT(seen + 2) & 14;
#else
		   need = (strict -> NEXT(seen + 3) & 14 : NEXT(seen + 2) & 14);
#endif
	   }
	   do
	   :: REACHED(seen, need) ->
		   atomic {
			   assert(!strict || (value_fresh & (1 << self)));
			   assert(value_recent & (1 << self));
			   break
		   }
	   :: else ->
		   leads = false;
		   if
		   :: seen % 2 == 0 ->
#ifdef SAMPLE_FIRST
			   sample[self] = ALL;
#endif
#ifdef NO_LEADER
			   sequence = NEXT(seen + 1);
			   leads = true;
#else
			   atomic {
				   if
				   :: sequence == seen ->
					   sequence = NEXT(seen + 1);
					   leads = true
				   :: else
				   fi
			   }
#endif
		   :: else
		   fi;
		   if
		   :: leads ->
#ifndef SAMPLE_FIRST
			   sample[self] = ALL;
#endif
#ifdef PUBLISH_FIRST
			   sequence = NEXT(seen + 2);
			   value_fresh = sample[self];
			   value_recent = ALL;
#else
			   /* A value is recent from when it is stored until a call begins, and
			    * again when its sequence is published. */
			   atomic {
				   value_fresh = sample[self];
				   value_recent = ALL
			   }
			   atomic {
				   sequence = NEXT(seen + 2);
				   value_recent = ALL
			   }
#endif
			   assert(sample[self] & (1 << self));
			   break
		   :: !leads ->
			   /* Patience is at its end: the device is read, which is always fresh. */
			   break
		   :: !leads -> seen = sequence
		   fi
	   od;
	   atomic {
		   sample[self] = 0;
		   seen = 0;
		   need = 0;
		   leads = false;
		   strict = false
	   }
	od
}

init
{
	byte i;

	atomic {
		for (i : 0 .. READERS - 1) {
			run reader(i)
		}
	}
}
