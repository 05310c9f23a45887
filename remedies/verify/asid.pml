/* SPDX-License-Identifier: MIT */
/*
 * The state machine of asid.h, for spin: 2 CPUs, TASKS address spaces, IDS identifiers and
 * a reserved one, GENERATIONS; a translation of address space 0 is taken away at any moment.
 *
 * TLBs hold as much as they may: whatever is loaded is in the TLB at once, and again right after a
 * flush. A fill changes no branch that the allocator takes, and each property fails the more the
 * TLB holds: whatever fails with speculative fills at other moments fails here too. -DSHARED: both
 * CPUs have one TLB.
 *
 * Weaker machines, which must fail: -DPLAIN_STORE (the active id is stored without compare and exchange),
 * -DNO_PARK (with SHARED), -DNO_RESERVE, -DNO_FLUSH, -DUNMAP_LATE (the
 * identifier is looked up before the translation is taken away). -DFLUSH_FIRST (the flush before
 * the scan) holds with 2 generations.
 */
#ifndef TASKS
#define TASKS 4
#endif
/* Identifiers 1 to IDS; 0 is the reserved one. */
#ifndef IDS
#define IDS 3
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
bool inside[CPUS];     /* a switch: nothing but the kernel runs */
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
		assert(!loaded[cpu] || inside[cpu] || TLB(cpu, number_of[cpu]) == 0 ||
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

/* renew_or_choose - under the lock: number = the identifier that the address space keeps or gets in
 * this generation, 0 where a new generation is needed */
inline renew_or_choose()
{
	number = 0;
	if
	:: id ->
		if
		:: id == reserved[0] || id == reserved[1] ->
			number = NUMBER(id);
			for (i : 0 .. CPUS - 1) {
				if
				:: reserved[i] == id -> reserved[i] = ID(round, number)
				:: else
				fi
			}
			i = 0
		:: else ->
			if
			:: !(used & (1 << NUMBER(id))) -> number = NUMBER(id)
			:: else
			fi
		fi
	:: else
	fi;
	if
	:: !number ->
		look_for_free();
		if
		:: number -> cursor = number
		:: else
		fi
	:: else
	fi
}

/* reserve - what a CPU runs keeps its identifier in the new generation */
inline reserve(cpu)
{
	i = live[cpu];
	live[cpu] = 0;
	if
	:: !i -> i = reserved[cpu]
	:: else
	fi;
#ifndef NO_RESERVE
	used = used | (1 << NUMBER(i));
#endif
	reserved[cpu] = i;
	i = 0;
}

/* settle - the address space has its identifier: flush where a generation began, let the lock go */
inline settle()
{
	if
	:: number ->
		used = used | (1 << number);
		id = ID(round, number);
		number = 0;
		context[task] = id
	:: else
	fi;
	if
	:: must_flush[self] ->
		must_flush[self] = false;
		flush(self)
	:: else
	fi;
	live[self] = id;
	locked = false
}

/*
 * Steps are one where no other process can see, or do, anything in between: what the lock protects
 * is seen under it alone; and where a park comes late, or a flush early, the TLB only holds more.
 */
proctype cpu(byte self)
{
	byte task, id, number, i;
	bool fast;

end:
	do
	:: atomic {
		   /* Address spaces from 1 on are alike: the first that had no identifier yet. */
		   if
		   :: task = 0
		   :: task = 1
		   :: context[1] -> task = 2
		   :: context[1] && context[2] -> task = 3
		   fi;
#if defined(SHARED) && !defined(NO_PARK)
		   loaded[self] = 0;
		   number_of[self] = 0;
#endif
		   inside[self] = true;
		   id = context[task];
		   fast = live[self] && ROUND(id) == round
	   }
	   /* Another CPU may begin a generation here. */
	   atomic {
		   if
#ifdef PLAIN_STORE
		   :: fast -> live[self] = id; goto installs
#else
		   :: fast && live[self] -> live[self] = id; goto installs
#endif
		   :: else -> fast = false
		   fi
	   }
	   atomic {
		   !locked -> locked = true;
		   id = context[task];
		   if
		   :: ROUND(id) == round -> settle(); goto installs
		   :: else -> renew_or_choose()
		   fi;
		   if
		   :: number -> settle(); goto installs
		   :: !number && round == GENERATIONS -> goto stop /* the bound of the model */
		   :: else
		   fi;
#ifdef FLUSH_FIRST
		   must_flush[1 - self] = true;
		   flush(self);
#endif
		   round++;
		   used = 1
	   }
	   /* The other CPU may still switch here, without the lock. */
	   atomic {
		   reserve(0);
		   reserve(1);
#if !defined(NO_FLUSH) && !defined(FLUSH_FIRST)
		   must_flush[0] = true;
		   must_flush[1] = true;
#endif
		   cursor = 1;
		   look_for_free();
		   assert(number);
		   cursor = number;
		   settle()
	   }
installs:
	   atomic {
		   inside[self] = false;
		   loaded[self] = task + 1;
		   number_of[self] = NUMBER(id);
		   fill(self);
		   task = 0;
		   id = 0;
		   number = 0;
		   fast = false
	   }
	od;
stop:
	atomic {
		task = 0;
		id = 0;
		number = 0;
		locked = false
	}
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
