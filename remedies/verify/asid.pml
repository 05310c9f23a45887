/* SPDX-License-Identifier: MIT */
/*
 * The state machine of asid.h, for spin: 2 CPUs, TASKS address spaces, IDS identifiers,
 * GENERATIONS; a translation of address space 0 is taken away at any moment.
 *
 * TLBs hold as much as they may: whatever is loaded is in the TLB at once, and again right after a
 * flush. A fill changes no branch that the allocator takes, and each property fails the more the
 * TLB holds: whatever fails with speculative fills at other moments fails here too. -DSHARED: both
 * CPUs have one TLB.
 *
 * Weaker machines, which must fail: -DPLAIN_STORE (the active id is stored without compare and exchange),
 * -DNO_PARK (with SHARED), -DNO_RESERVE, -DNO_FLUSH, -DFLUSH_FIRST (the flush before the scan),
 * -DUNMAP_LATE (the identifier is looked up before the translation is taken away).
 */
#ifndef TASKS
#define TASKS 4
#endif
#ifndef IDS
#define IDS 4
#endif
#ifndef GENERATIONS
#define GENERATIONS 3
#endif
#define CPUS	       2
#define ID(round, num) ((round) * 8 + (num))
#define NUMBER(id)     ((id) & 7)
#define ROUND(id)      ((id) >> 3)
#ifdef SHARED
#define TLB(cpu, number) tlb[number]
#else
#define TLB(cpu, number) tlb[(cpu) * (IDS + 1) + (number)]
#endif

byte round = 1; /* the generation */
byte cursor = 1;
byte used;	/* a set of identifiers */
bool locked;
bool there = true;     /* the translation of address space 0 */
bool taken;	       /* it was taken away and invalidated */
byte context[TASKS];   /* ids */
byte live[CPUS];
byte reserved[CPUS];
bool must_flush[CPUS];
byte loaded[CPUS];     /* the address space + 1 */
byte number_of[CPUS];  /* under this identifier */
byte tlb[CPUS * (IDS + 1)]; /* the address space + 1 */

/* fill - the TLB takes what is loaded; nothing else may be there under that identifier */
inline fill(cpu)
{
	if
	:: loaded[cpu] && (loaded[cpu] != 1 || there) ->
		assert(TLB(cpu, number_of[cpu]) == 0 ||
		       TLB(cpu, number_of[cpu]) == loaded[cpu]);
		TLB(cpu, number_of[cpu]) = loaded[cpu]
	:: else ->
		/* What was taken away is not used. */
		assert(!loaded[cpu] || TLB(cpu, number_of[cpu]) == 0 ||
		       (TLB(cpu, number_of[cpu]) == 1 && !taken))
	fi
}

inline flush(cpu)
{
	for (i : 1 .. IDS) {
		TLB(cpu, i) = 0;
	}
	i = 0;
	fill(0);
	fill(1);
}

inline look_for_free()
{
	for (i : cursor .. IDS) {
		if
		:: !(used & (1 << i)) && !number -> number = i
		:: else
		fi
	}
	i = 0;
}

proctype cpu(byte self)
{
	byte task, id, was, number, i;

end:
	do
	:: atomic {
		   if
		   :: task = 0
		   :: task = 1
		   :: task = 2
		   :: task = 3
		   fi;
#if defined(SHARED) && !defined(NO_PARK)
		   loaded[self] = 0;
		   number_of[self] = 0;
#endif
	   }
	   atomic {
		   id = context[task];
		   was = live[self]
	   }
	   if
	   :: was && ROUND(id) == round ->
		   /* Another CPU may begin a generation here. */
		   atomic {
#ifndef PLAIN_STORE
			   if
			   :: live[self] == was -> live[self] = id
			   :: else -> was = 0
			   fi
#else
			   live[self] = id
#endif
		   }
	   :: else -> was = 0
	   fi;
	   if
	   :: was
	   :: else ->
		   atomic {
			   !locked -> locked = true;
			   id = context[task];
		   }
		   if
		   :: ROUND(id) == round
		   :: else ->
			   atomic {
				   number = 0;
				   if
				   :: id ->
					   if
					   :: id == reserved[0] || id == reserved[1] ->
						   number = NUMBER(id);
						   for (i : 0 .. CPUS - 1) {
							   if
							   :: reserved[i] == id ->
								   reserved[i] = ID(round, number)
							   :: else
							   fi
						   }
						   i = 0
					   :: else ->
						   if
						   :: !(used & (1 << NUMBER(id))) ->
							   number = NUMBER(id)
						   :: else
						   fi
					   fi
				   :: else
				   fi;
				   if
				   :: !number ->
					   look_for_free()
					   if
					   :: number -> cursor = number
					   :: else
					   fi
				   :: else
				   fi
			   }
			   if
			   :: number
			   :: !number && round == GENERATIONS ->
				   /* The bound of the model. */
				   goto stop
			   :: !number && round < GENERATIONS ->
#ifdef FLUSH_FIRST
				   atomic {
					   must_flush[1 - self] = true;
					   flush(self)
				   }
#endif
				   round++;
				   used = 1;
				   atomic {
					   i = live[1 - self];
					   live[1 - self] = 0;
					   if
					   :: !i -> i = reserved[1 - self]
					   :: else
					   fi;
#ifndef NO_RESERVE
					   used = used | (1 << NUMBER(i));
#endif
					   reserved[1 - self] = i;
					   i = live[self];
					   live[self] = 0;
					   if
					   :: !i -> i = reserved[self]
					   :: else
					   fi;
#ifndef NO_RESERVE
					   used = used | (1 << NUMBER(i));
#endif
					   reserved[self] = i;
					   i = 0;
#if !defined(NO_FLUSH) && !defined(FLUSH_FIRST)
					   must_flush[0] = true;
					   must_flush[1] = true;
#endif
					   cursor = 1;
					   look_for_free()
					   cursor = number;
					   assert(number)
				   }
			   fi;
			   atomic {
				   used = used | (1 << number);
				   id = ID(round, number);
				   number = 0;
				   context[task] = id
			   }
		   fi;
		   atomic {
			   if
			   :: must_flush[self] ->
				   must_flush[self] = false;
				   flush(self)
			   :: else
			   fi;
			   live[self] = id;
			   locked = false
		   }
	   fi;
	   atomic {
		   loaded[self] = task + 1;
		   number_of[self] = NUMBER(id);
		   fill(self);
		   task = 0;
		   id = 0;
		   was = 0
	   }
	od;
stop:
	locked = false
}

proctype unmap()
{
	byte number, i;

#ifdef UNMAP_LATE
	number = NUMBER(context[0]);
	there = false;
#else
	there = false;
	number = NUMBER(context[0]);
#endif
	atomic {
		for (i : 0 .. CPUS - 1) {
			if
			:: TLB(i, number) == 1 -> TLB(i, number) = 0
			:: else
			fi
		}
		i = 0;
		number = 0;
		taken = true;
		fill(0);
		fill(1)
	}
}

init
{
	atomic {
		used = 1;
		run cpu(0);
		run cpu(1);
		run unmap()
	}
}
