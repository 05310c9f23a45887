/* SPDX-License-Identifier: MIT */
/*
 * The state machine of asid.pml, for more generations: states that differ only in the names of CPUs,
 * of address spaces (but 0, whose translation is taken away) or of identifiers are searched once.
 *
 * To be renamed at will, identifiers are handed out in any order, where asid.h searches from a
 * cursor: all that it does is among that. There is one process, whose steps are the CPUs', so that a
 * step can rename them. `place` is where a CPU is in asid_switch(). An id of a past generation that
 * nothing can be compared with any more keeps its identifier alone.
 *
 * Weaker machines, which must fail: as in asid.pml.
 */
#ifndef IDS
#define IDS 3
#endif
#ifndef GENERATIONS
#define GENERATIONS 3
#endif
#define TASKS	       4
#define CPUS	       2
#define ID(round, num) ((round) * 8 + (num))
#define NUMBER(id)     ((id) & 7)
#define ROUND(id)      ((id) >> 3)
#ifdef SHARED
#define TLB(cpu, number) tlb[number]
#else
#define TLB(cpu, number) tlb[(cpu) * (IDS + 1) + (number)]
#endif

/* Places of a CPU: it runs; it saw that it may switch without the lock; it waits for the lock; it
 * holds the lock in a new generation; it installs; the model's bound. */
#define RUNS	 0
#define LOOKED	 1
#define WAITS	 2
#define ROLLS	 3
#define INSTALLS 4
#define STOPPED	 5

byte round = 1;
byte used = 1;
byte place[CPUS], task[CPUS], id[CPUS];
byte live[CPUS], reserved[CPUS], must_flush[CPUS];
byte loaded[CPUS], number_of[CPUS];
byte context[TASKS];
byte tlb[CPUS * (IDS + 1)];
/* Of the unmap: the translation is there; it is, and the identifier was looked up (UNMAP_LATE); it
 * was taken out; the identifier was looked up; it was invalidated. */
#define THERE	 0
#define TOO_SOON 1
#define TAKEN	 2
#define LOOKS_UP 3
#define GONE	 4
byte unmap, unmap_number;

c_code {
	struct names { unsigned char number[8], next; };

	static unsigned char number_name(struct names *names, unsigned char number)
	{
		if (number && !names->number[number])
			names->number[number] = names->next++;
		return names->number[number];
	}

	static unsigned char id_name(struct names *names, unsigned char id)
	{
		return (id & ~7) | number_name(names, id & 7);
	}

	/* is_compared - whether an id of a past generation may be met again as a reserve */
	static int is_compared(unsigned char id)
	{
		for (int i = 0; i < CPUS; i++)
			if (now.live[i] == id || now.reserved[i] == id ||
			    (now.place[i] != RUNS && now.id[i] == id))
				return 1;
		return id >> 3 == now.round;
	}

	static unsigned char task_name(const unsigned char *name, unsigned char loaded)
	{
		return loaded ? name[loaded - 1] + 1 : 0;
	}

	/* rename_all - write the state under the names of CPUs, where `cpu` comes first, and tasks */
	static int rename_all(const unsigned char *cpus, const unsigned char *tasks,
			      unsigned char *out)
	{
		struct names names = {{0}, 1};
		unsigned char name[TASKS], at = 0;
		struct { unsigned char key[4], number; } rest[IDS], other;
		int unnamed = 0;

		for (int i = 0; i < TASKS; i++)
			name[tasks[i]] = i;
		for (int i = 0; i < CPUS; i++) {
			int cpu = cpus[i];

			out[at++] = now.place[cpu];
			out[at++] = now.place[cpu] == RUNS ? 0 : name[now.task[cpu]];
			out[at++] = id_name(&names, now.id[cpu]);
			out[at++] = id_name(&names, now.live[cpu]);
			out[at++] = id_name(&names, now.reserved[cpu]);
			out[at++] = now.must_flush[cpu];
			out[at++] = task_name(name, now.loaded[cpu]);
			out[at++] = number_name(&names, now.number_of[cpu]);
		}
		for (int i = 0; i < TASKS; i++)
			out[at++] = id_name(&names, now.context[tasks[i]]);
		out[at++] = number_name(&names, now.unmap_number);
		/* Identifiers that only the set and TLBs know. */
		for (int number = 1; number <= IDS; number++) {
			if (names.number[number])
				continue;
			memset(&other, 0, sizeof(other));
			other.number = number;
			other.key[0] = now.used >> number & 1;
			other.key[1] = task_name(name, now.TLB(cpus[0], number));
			other.key[2] = task_name(name, now.TLB(cpus[1], number));
			int place = unnamed++;
			for (; place && memcmp(other.key, rest[place - 1].key, 4) < 0; place--)
				rest[place] = rest[place - 1];
			rest[place] = other;
		}
		for (int i = 0; i < unnamed; i++)
			names.number[rest[i].number] = names.next++;
		memset(out + at, 0, 1 + CPUS * (IDS + 1));
		for (int number = 0; number <= IDS; number++) {
			int new = number ? names.number[number] : 0;

			out[at] |= (now.used >> number & 1) << new;
#ifdef SHARED
			out[at + 1 + new] = task_name(name, now.tlb[number]);
#else
			for (int i = 0; i < CPUS; i++)
				out[at + 1 + i * (IDS + 1) + new] =
				    task_name(name, now.tlb[cpus[i] * (IDS + 1) + number]);
#endif
		}
		return at + 1 + CPUS * (IDS + 1);
	}

	/* canonical - replace the state by the first of all that names make of it */
	static void canonical(void)
	{
		static const unsigned char cpus[2][CPUS] = {{0, 1}, {1, 0}};
		static const unsigned char tasks[6][TASKS] = {{0, 1, 2, 3}, {0, 1, 3, 2},
		    {0, 2, 1, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1}};
		unsigned char best[64], next[64], at = 0;
		int length = 0;

		for (int i = 0; i < TASKS; i++)
			if (now.context[i] && !is_compared(now.context[i]))
				now.context[i] &= 7;
		for (int i = 0; i < 12; i++) {
			length = rename_all(cpus[i / 6], tasks[i % 6], next);
			if (!i || memcmp(next, best, length) < 0)
				memcpy(best, next, length);
		}
		for (int i = 0; i < CPUS; i++) {
			now.place[i] = best[at++];
			now.task[i] = best[at++];
			now.id[i] = best[at++];
			now.live[i] = best[at++];
			now.reserved[i] = best[at++];
			now.must_flush[i] = best[at++];
			now.loaded[i] = best[at++];
			now.number_of[i] = best[at++];
		}
		for (int i = 0; i < TASKS; i++)
			now.context[i] = best[at++];
		now.unmap_number = best[at++];
		now.used = best[at++];
		for (int i = 0; i < CPUS * (IDS + 1); i++)
			now.tlb[i] = best[at++];
	}
}

/* fill - the TLB takes what is loaded; nothing else may be there under that identifier */
inline fill(cpu)
{
	if
	:: loaded[cpu] && (loaded[cpu] != 1 || unmap <= TOO_SOON) ->
		assert(TLB(cpu, number_of[cpu]) == 0 ||
		       TLB(cpu, number_of[cpu]) == loaded[cpu]);
		TLB(cpu, number_of[cpu]) = loaded[cpu]
	:: else ->
		/* What was taken away is not used. */
		assert(!loaded[cpu] || place[cpu] != RUNS || TLB(cpu, number_of[cpu]) == 0 ||
		       (TLB(cpu, number_of[cpu]) == 1 && unmap != GONE))
	fi
}

inline flush(cpu)
{
	for (i : 1 .. IDS) {
		TLB(cpu, i) = 0;
	}
	fill(0);
	fill(1);
}

/* look_for_free - number: any that is free, or 0 */
inline look_for_free()
{
	if
	:: !(used & 2) -> number = 1
	:: !(used & 4) -> number = 2
	:: !(used & 8) -> number = 3
	:: else -> number = 0
	fi
}

inline begin_switch(chosen)
{
	task[self] = chosen;
#if defined(SHARED) && !defined(NO_PARK)
	loaded[self] = 0;
	number_of[self] = 0;
#endif
	id[self] = context[chosen];
	if
	:: live[self] && ROUND(id[self]) == round -> place[self] = LOOKED
	:: else -> place[self] = WAITS
	fi
}

inline renew_or_choose()
{
	number = 0;
	if
	:: id[self] ->
		if
		:: id[self] == reserved[0] || id[self] == reserved[1] ->
			number = NUMBER(id[self]);
			for (i : 0 .. CPUS - 1) {
				if
				:: reserved[i] == id[self] -> reserved[i] = ID(round, number)
				:: else
				fi
			}
		:: else ->
			if
			:: !(used & (1 << NUMBER(id[self]))) -> number = NUMBER(id[self])
			:: else
			fi
		fi
	:: else
	fi;
	if
	:: !number -> look_for_free()
	:: else
	fi
}

/* settle - the address space has its identifier: flush where a generation began, let the lock go */
inline settle()
{
	if
	:: number ->
		used = used | (1 << number);
		id[self] = ID(round, number);
		context[task[self]] = id[self]
	:: else
	fi;
	if
	:: must_flush[self] ->
		must_flush[self] = 0;
		flush(self)
	:: else
	fi;
	live[self] = id[self];
	place[self] = INSTALLS
}

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
	reserved[cpu] = i
}

/* finish - forget what was needed for the step alone, and rename */
inline finish()
{
	self = 0;
	i = 0;
	number = 0;
	c_code { canonical(); }
}

inline with_the_lock()
{
	id[self] = context[task[self]];
	if
	:: ROUND(id[self]) == round -> settle()
	:: else ->
		renew_or_choose();
		if
		:: number -> settle()
		:: !number && round == GENERATIONS -> place[self] = STOPPED
		:: else ->
#ifdef FLUSH_FIRST
			must_flush[1 - self] = 1;
			flush(self);
#endif
			round++;
			used = 1;
			place[self] = ROLLS
		fi
	fi
}

inline roll_over()
{
	reserve(0);
	reserve(1);
#if !defined(NO_FLUSH) && !defined(FLUSH_FIRST)
	must_flush[0] = 1;
	must_flush[1] = 1;
#endif
	look_for_free();
	assert(number);
	settle()
}

#define IS_FREE (place[0] != ROLLS && place[1] != ROLLS)

inline steps(cpu)
{
	if
	:: place[cpu] == RUNS ->
		if
		:: begin_switch(0)
		:: begin_switch(1)
		:: begin_switch(2)
		:: begin_switch(3)
		fi
	:: place[cpu] == LOOKED ->
		if
#ifdef PLAIN_STORE
		:: live[cpu] = id[cpu]; place[cpu] = INSTALLS
#else
		:: live[cpu] -> live[cpu] = id[cpu]; place[cpu] = INSTALLS
		:: else -> place[cpu] = WAITS
#endif
		fi
	:: place[cpu] == WAITS -> with_the_lock()
	:: place[cpu] == ROLLS -> roll_over()
	:: place[cpu] == INSTALLS ->
		place[cpu] = RUNS;
		loaded[cpu] = task[cpu] + 1;
		number_of[cpu] = NUMBER(id[cpu]);
		task[cpu] = 0;
		id[cpu] = 0;
		fill(cpu)
	fi
}

inline unmap_step()
{
	if
	:: unmap == THERE ->
#ifdef UNMAP_LATE
		unmap_number = NUMBER(context[0]);
		unmap = TOO_SOON
	:: unmap == TOO_SOON -> unmap = LOOKS_UP
#else
		unmap = TAKEN
#endif
	:: unmap == TAKEN -> unmap_number = NUMBER(context[0]); unmap = LOOKS_UP
	:: unmap == LOOKS_UP ->
		for (i : 0 .. CPUS - 1) {
			if
			:: TLB(i, unmap_number) == 1 -> TLB(i, unmap_number) = 0
			:: else
			fi
		}
		unmap_number = 0;
		unmap = GONE;
		fill(0);
		fill(1)
	fi
}

#define CAN_STEP(cpu) (place[cpu] != STOPPED && (place[cpu] != WAITS || IS_FREE))

active proctype machine()
{
	byte self, i, number;

end:
	do
	:: atomic { CAN_STEP(0) -> self = 0; steps(self); finish() }
	:: atomic { CAN_STEP(1) -> self = 1; steps(self); finish() }
	:: atomic { unmap != GONE -> unmap_step(); finish() }
	od
}
