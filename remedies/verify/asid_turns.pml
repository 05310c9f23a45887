/* SPDX-License-Identifier: MIT */
/*
 * The state machine of asid_turns.h, for spin: 2 CPUs with SLOTS slots each, an address space more,
 * and CHANGERS callers who each take a translation of address space 0 away, once.
 *
 * A translation is there until `gone`. A TLB's slot holds it (`holds`) from when the address space is
 * loaded until a flush: as much as it may. What was taken away must not be used once turns_changed()
 * has returned and its interrupts ended. Counts are small, and never wrap.
 *
 * Weaker machines, which must fail: -DLOOK_FIRST (the changes are looked at before the address space
 * is noted as loaded), -DCOUNT_LAST (who has it loaded is looked at before the change is counted),
 * -DNO_FLUSH (a slot that another address space had is not flushed). With one slot a CPU the first two
 * hold: each switch to another address space flushes.
 */
#ifndef CHANGERS
#define CHANGERS 2
#endif
#define CPUS   2
#ifndef SLOTS
#define SLOTS 2
#endif
#define SPACES (SLOTS + 1)
#define AT(cpu, slot) ((cpu) * SLOTS + (slot))

byte changes;		     /* of address space 0: the others have none */
bool gone[2], finished[2];   /* of each translation: taken away; and nobody may use it */
byte loaded[CPUS];	     /* the address space + 1 that the CPU noted */
byte runs[CPUS];	     /* its base register: slot + 1 */
byte turn[CPUS];
byte name[CPUS * SLOTS];     /* the address space + 1 */
byte upto[CPUS * SLOTS];     /* its count of changes when it was flushed */
byte holds[CPUS * SLOTS];    /* a set of translations of address space 0 */
byte fills[CPUS * SLOTS];    /* the address space + 1 whose translations the slot has */
bool asked[CPUS];	     /* an interrupt is to be taken */

/* walk - the CPU runs the address space in the slot: its TLB takes what is there, and uses it */
inline walk(cpu, slot)
{
	assert(!fills[AT(cpu, slot)] || fills[AT(cpu, slot)] == name[AT(cpu, slot)]);
	fills[AT(cpu, slot)] = name[AT(cpu, slot)];
	if
	:: name[AT(cpu, slot)] == 1 ->
		holds[AT(cpu, slot)] = holds[AT(cpu, slot)] | (gone[0] -> 0 : 1) |
				       (gone[1] -> 0 : 2);
		assert(!(finished[0] && (holds[AT(cpu, slot)] & 1)));
		assert(!(finished[1] && (holds[AT(cpu, slot)] & 2)))
	:: else
	fi
}

inline refresh()
{
	flush = false;
	slot = SLOTS;
	for (i : 0 .. SLOTS - 1) {
		if
		:: name[AT(self, i)] == space + 1 ->
			slot = i;
			if
			:: !space && upto[AT(self, i)] < changes -> flush = true; upto[AT(self, i)] = changes
			:: else
			fi
		:: else
		fi
	}
	i = 0
}

inline choose()
{
	refresh();
	if
	:: slot == SLOTS ->
		slot = turn[self];
		turn[self] = (turn[self] + 1) % SLOTS;
		name[AT(self, slot)] = space + 1;
		upto[AT(self, slot)] = (space -> 0 : changes);
#ifndef NO_FLUSH
		flush = true
#endif
	:: else
	fi
}

proctype cpu(byte self)
{
	byte space, slot, i;
	bool flush;

end:
	do
	:: atomic {
		   if
		   :: space = 0
		   :: space = 1
	#if SLOTS == 2
		   :: space = 2
#endif
		   fi
	   }
#ifdef LOOK_FIRST
	   atomic { choose() }
	   loaded[self] = space + 1;
#else
	   loaded[self] = space + 1;
	   atomic { choose() }
#endif
	   atomic {
		   /* The load of the base register, with its flush. */
		   if
		   :: flush -> holds[AT(self, slot)] = 0; fills[AT(self, slot)] = 0
		   :: else
		   fi;
		   runs[self] = slot + 1;
		   walk(self, slot);
		   space = 0;
		   slot = 0;
		   flush = false
	   }
	:: atomic { runs[self] -> walk(self, runs[self] - 1) }
	:: atomic {
		   asked[self] ->
		   space = 0;
		   refresh();
		   if
		   :: slot != SLOTS && flush -> holds[AT(self, slot)] = 0; fills[AT(self, slot)] = 0
		   :: else
		   fi;
		   asked[self] = false;
		   slot = 0;
		   flush = false
	   }
	od
}

proctype changer(byte self)
{
	byte i;
	bool sees[CPUS];

	gone[self] = true;
#ifndef COUNT_LAST
	changes++;
#endif
	sees[0] = loaded[0] == 1;
	sees[1] = loaded[1] == 1;
#ifdef COUNT_LAST
	changes++;
#endif
	/* An interrupt is not taken inside turns_switch(). */
	do
	:: i < CPUS ->
		if
		:: sees[i] -> asked[i] = true; !asked[i]
		:: else
		fi;
		i++
	:: else -> break
	od;
	finished[self] = true
}

init
{
	atomic {
		run cpu(0);
		run cpu(1);
		run changer(0);
#if CHANGERS == 2
		run changer(1)
#endif
	}
}
