// SPDX-License-Identifier: MIT
/*
 * asid_contention FORM BITS THREADS MS - what an identifier and a rollover cost
 *
 * Each thread is a CPU of asid.h. known: it switches between two address spaces of its own, which
 * keep their identifiers. All others switch to an address space that never ran, the most that an
 * allocator can be asked for: bitmap is asid.h; list has its free identifiers on a stack; cache
 * gives each CPU a few, that it hands out without the lock. The last two are for comparison, and
 * proved by nobody. turns-known and turns are the same with asid_turns.h, where each CPU hands out
 * its own slots. The hooks do nothing: what a flush costs is the hardware's.
 *
 * A lock that serves in order is slow where its next holder has no CPU. With more threads than CPUs
 * waiting is sched_yield() here; in a kernel the holder has interrupts disabled, and its CPU.
 *
 * Prints the switches, the CPU time of all threads in ns and the elapsed time in ns. With MS = 0
 * it prints the median ns of a switch in which a generation begins, with THREADS CPUs; of turns,
 * which has no generations, the median ns of telling THREADS CPUs that a translation was taken
 * away.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../remedies/remedy_atomic.h"

#undef REMEDY_RELAX
#define REMEDY_RELAX() (more_than_cpus ? (void)sched_yield() : (void)__builtin_ia32_pause())
static int more_than_cpus;

#include "../remedies/asid.h"
#include "../remedies/asid_turns.h"

#define MOST_THREADS 16u
#define IDS	     65536u
#define CACHE	     16u
#define BATCH	     16u
#define ROLLOVERS    25u
#define CHANGES	     64u

enum form { KNOWN, BITMAP, LIST, CACHED, TURNS_KNOWN, TURNS };

static struct asid_allocator ids;
static struct asid_cpu cpus[MOST_THREADS];
static uint64_t used[IDS / 64], kept[IDS / 64];
static uint16_t list[IDS];
static uint32_t listed;
static struct turns_cpu turns_cpus[MOST_THREADS] __attribute__((aligned(64)));
static enum form form;
static REMEDY_ATOMIC(int) ends;
static pthread_barrier_t start_line;

static struct cache {
	uint64_t id[CACHE]; /* of a generation that may be over */
	uint32_t left;
	uint64_t switches, cpu_ns;
} __attribute__((aligned(64))) caches[MOST_THREADS];

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void flush_local(void *context, uint32_t cpu)
{
	(void)context;
	(void)cpu;
}

static void install(void *context, uint32_t cpu, uint32_t number, struct asid_context *space)
{
	(void)context;
	(void)cpu;
	(void)number;
	/* As a register that is written. */
	__asm__ volatile("" : : "r"(space) : "memory");
}

/* refill_list - with the lock */
static void refill_list(void)
{
	listed = 0;
	for (uint32_t number = (1u << ids.bits) - 1; number >= ids.first; number--)
		if (!asid_has_(used, number))
			list[listed++] = (uint16_t)number;
}

/* new_of_list - return a new id; with the lock */
static uint64_t new_of_list(void)
{
	uint32_t number;

	if (!listed) {
		asid_roll_over_(&ids);
		refill_list();
	}
	number = list[--listed];
	asid_add_(used, number);
	return REMEDY_LOAD(&ids.generation, relaxed) | number;
}

/* new_of_cache - return a new id, and take more from the set; with the lock */
static uint64_t new_of_cache(struct cache *cache, const struct asid_context *space)
{
	uint64_t id = asid_new_(&ids, space);
	uint32_t number;

	cache->left = 0;
	while (cache->left < CACHE) {
		number = asid_free_(&ids, ids.cursor);
		if (!number)
			break;
		asid_add_(used, number);
		ids.cursor = number;
		cache->id[cache->left++] = REMEDY_LOAD(&ids.generation, relaxed) | number;
	}
	return id;
}

/* switch_otherwise - asid_switch() with another source of identifiers, for a new address space */
static void switch_otherwise(uint32_t cpu, struct asid_context *space)
{
	struct cache *cache = &caches[cpu];
	struct asid_cpu *own = &cpus[cpu];
	uint64_t active = REMEDY_LOAD(&own->active, relaxed), id;

	if (form == CACHED && cache->left && active) {
		id = cache->id[--cache->left];
		if (asid_is_current_(&ids, id) && REMEDY_CAS(&own->active, &active, id, relaxed)) {
			REMEDY_STORE(&space->id, id, relaxed);
			goto installs;
		}
		cache->left = 0;
	}
	remedy_lock_take(&ids.lock);
	id = form == LIST ? new_of_list() : new_of_cache(cache, space);
	REMEDY_STORE(&space->id, id, relaxed);
	if (own->must_flush) {
		own->must_flush = 0;
		flush_local(NULL, cpu);
	}
	REMEDY_STORE(&own->active, id, relaxed);
	remedy_lock_give(&ids.lock);
installs:
	REMEDY_FENCE(ASID_WALK);
	install(NULL, cpu, asid_number_(&ids, id), space);
}

static void switch_to_new(uint32_t cpu)
{
	struct asid_context space;

	REMEDY_STORE(&space.id, (uint64_t)0, relaxed);
	space.pins = 0;
	if (form == BITMAP)
		asid_switch(&ids, cpu, &space);
	else
		switch_otherwise(cpu, &space);
}

/* turn_to - as a kernel does with what turns_switch() returned */
static void turn_to(uint32_t cpu, struct turns_context *space)
{
	struct turns_choice choice = turns_switch(&turns_cpus[cpu], space);

	__asm__ volatile("" : : "r"(choice.slot), "r"(choice.flush) : "memory");
}

/* turn_to_new - names of two CPUs differ */
static void turn_to_new(uint32_t cpu, uint64_t *name)
{
	struct turns_context space;

	turns_context_init(&space, *name += MOST_THREADS);
	turn_to(cpu, &space);
}

static void no_interrupt(void *context, uint32_t cpu)
{
	(void)context;
	(void)cpu;
}

static void *switch_on(void *argument)
{
	const uint32_t cpu = (uint32_t)(uintptr_t)argument;
	struct asid_context spaces[2];
	struct turns_context turned[2];
	uint64_t switches = 0, name = MOST_THREADS + cpu, started;

	memset(spaces, 0, sizeof(spaces));
	turns_context_init(&turned[0], name);
	turns_context_init(&turned[1], name += MOST_THREADS);
	pthread_barrier_wait(&start_line);
	started = now_ns(CLOCK_THREAD_CPUTIME_ID);
	while (!REMEDY_LOAD(&ends, relaxed)) {
		for (uint32_t i = 0; i < BATCH; i++) {
			if (form == KNOWN)
				asid_switch(&ids, cpu, &spaces[i % 2]);
			else if (form == TURNS_KNOWN)
				turn_to(cpu, &turned[i % 2]);
			else if (form == TURNS)
				turn_to_new(cpu, &name);
			else
				switch_to_new(cpu);
		}
		switches += BATCH;
	}
	caches[cpu].cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - started;
	caches[cpu].switches = switches;
	return NULL;
}

static int is_less(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* time_rollovers - return the median ns of the switches in which a generation begins: a thread
 * switches on all CPUs in turn, so that it waits for nobody */
static uint64_t time_rollovers(void)
{
	static uint64_t took[ROLLOVERS];
	uint32_t count = 0;

	for (uint32_t cpu = 0; count < ROLLOVERS; cpu = (cpu + 1) % ids.cpus) {
		uint64_t before = ids.rollovers, start = now_ns(CLOCK_MONOTONIC);

		switch_to_new(cpu);
		start = now_ns(CLOCK_MONOTONIC) - start;
		if (ids.rollovers != before)
			took[count++] = start;
	}
	qsort(took, ROLLOVERS, sizeof(took[0]), is_less);
	return took[ROLLOVERS / 2];
}

/* time_changes - return the median ns of telling all CPUs, of which none runs the address space */
static uint64_t time_changes(void)
{
	static uint64_t took[ROLLOVERS];
	struct turns_context space;

	turns_context_init(&space, 1);
	for (uint32_t i = 0; i < ROLLOVERS; i++) {
		uint64_t start = now_ns(CLOCK_MONOTONIC);

		for (uint32_t call = 0; call < CHANGES; call++)
			turns_changed(&space, turns_cpus, ids.cpus, no_interrupt, NULL);
		took[i] = now_ns(CLOCK_MONOTONIC) - start;
	}
	qsort(took, ROLLOVERS, sizeof(took[0]), is_less);
	return took[ROLLOVERS / 2] / CHANGES;
}

/* measure - print switches, CPU time and elapsed time of all threads */
static int measure(uint32_t threads, uint32_t ms)
{
	pthread_t thread[MOST_THREADS];
	uint64_t switches = 0, cpu_ns = 0, started;

	pthread_barrier_init(&start_line, NULL, threads + 1);
	for (uintptr_t i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, switch_on, (void *)i))
			return 1;
	pthread_barrier_wait(&start_line);
	started = now_ns(CLOCK_MONOTONIC);
	usleep(ms * 1000);
	REMEDY_STORE(&ends, 1, relaxed);
	started = now_ns(CLOCK_MONOTONIC) - started;
	for (uint32_t i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		switches += caches[i].switches;
		cpu_ns += caches[i].cpu_ns;
	}
	printf("%llu %llu %llu\n", (unsigned long long)switches, (unsigned long long)cpu_ns,
	       (unsigned long long)started);
	return 0;
}

int main(int count, char **words)
{
	static const char *const forms[] = {"known", "bitmap",	    "list",
					    "cache", "turns-known", "turns"};
	static const struct asid_hooks hooks = {NULL, flush_local, NULL, install, NULL};
	uint32_t bits = count == 5 ? (uint32_t)atoi(words[2]) : 0;
	uint32_t threads = count == 5 ? (uint32_t)atoi(words[3]) : 0;
	uint32_t ms = count == 5 ? (uint32_t)atoi(words[4]) : 0;

	while (count == 5 && form <= TURNS && strcmp(words[1], forms[form]))
		form++;
	/* Each CPU has what it runs, and a cache. */
	if (count != 5 || form > TURNS || threads < 1 || threads > MOST_THREADS || bits > 16 ||
	    bits < 6 || ms > 10000 ||
	    !asid_init(&ids, &hooks, bits, 1, used, kept, cpus, threads, 0)) {
		fprintf(stderr, "usage: asid_contention known|bitmap|list|cache|turns-known|turns "
				"6-16 1-16 MS\n");
		return 2;
	}
	if (form == LIST)
		refill_list();
	for (uint32_t cpu = 0; cpu < MOST_THREADS; cpu++)
		turns_init(&turns_cpus[cpu]);
	if (!ms) {
		printf("%llu\n",
		       (unsigned long long)(form == TURNS ? time_changes() : time_rollovers()));
		return 0;
	}
	more_than_cpus = threads > sysconf(_SC_NPROCESSORS_ONLN);
	return measure(threads, ms);
}
