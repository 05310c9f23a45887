// SPDX-License-Identifier: MIT
/*
 * shared_ages FORM SECONDS - is any value older than the form allows?
 *
 * Two threads read an emulated device that samples as a read begins, takes 1 us and serves one
 * read at a time, so that no two reads have the same value. FORM is strict or relaxed. Each value
 * is compared with the moment of its call. One that is older is looked up, after a round, among the
 * reads of the device: the call must have begun before the reader of that value had published it,
 * so that the value is older by no more than the time from its sample until then. Prints how many
 * values, older ones, the most ns, and how many are older than they may be.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared_read.h"

#include "../../bench/serial_reads.h"

#define THREADS	   2
#define SERVICE_NS 1000u
#define ROUND_NS   20000000u
/* Of a round. */
#define MOST_VALUES 100000u

/* The fences keep what a CPU does early or late out of the times: a look at the sequence before the
 * clock was read, and a publication that others see after it. */

/* A value, and when the call began (of an older one) or ended (of a read of the device). */
struct entry {
	uint64_t value, ns;
};

struct reader {
	struct entry old[MOST_VALUES], led[MOST_VALUES];
	size_t values, olds, leds;
	uint64_t most_ns;
};

static struct shared_read shared;
static struct reader readers[THREADS];
static struct serial_reads device = {.service_ns = SERVICE_NS};
static REMEDY_ATOMIC(int) stop;
static pthread_barrier_t barrier;
static shared_value (*form)(struct shared_read *);
static _Thread_local uint64_t sampled_ns; /* by this thread in this call; or 0 */

static shared_value read_device(void *context)
{
	sampled_ns = serial_read(context);
	return sampled_ns;
}

static void *read_values(void *argument)
{
	struct reader *reader = argument;
	cpu_set_t cpu;

	/* Each has a CPU of its own, where there are two. */
	CPU_ZERO(&cpu);
	CPU_SET((size_t)(reader - readers), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	pthread_barrier_wait(&barrier);
	while (!REMEDY_LOAD(&stop, relaxed) && reader->values < MOST_VALUES) {
		uint64_t start_ns = now_ns(), value;

		sampled_ns = 0;
		REMEDY_FENCE(seq_cst);
		value = form(&shared);
		reader->values++;
		REMEDY_FENCE(seq_cst);
		if (sampled_ns)
			reader->led[reader->leds++] = (struct entry){sampled_ns, now_ns()};
		if (value >= start_ns)
			continue;
		reader->old[reader->olds++] = (struct entry){value, start_ns};
		if (start_ns - value > reader->most_ns)
			reader->most_ns = start_ns - value;
	}
	return NULL;
}

/* was_going_on - whether the read of that value went on when the call began; leds are in the order
 * of their values */
static int was_going_on(struct entry old)
{
	for (size_t i = 0; i < THREADS; i++) {
		size_t low = 0, high = readers[i].leds;

		while (low < high) {
			size_t middle = (low + high) / 2;

			if (readers[i].led[middle].value < old.value)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < readers[i].leds && readers[i].led[low].value == old.value)
			return old.ns <= readers[i].led[low].ns;
	}
	return 0;
}

int main(int count, char **words)
{
	uint64_t values = 0, olds = 0, beyond = 0, most_ns = 0, end_ns;

	if (count != 3)
		return 2;
	form = strcmp(words[1], "strict") ? shared_read_relaxed : shared_read_strict;
	end_ns = now_ns() + (uint64_t)(atof(words[2]) * 1e9);
	pthread_barrier_init(&barrier, NULL, THREADS);
	shared_read_init(&shared, read_device, &device, 64, 0);
	shared_read_calibrate(&shared, now_ns, 64);
	while (now_ns() < end_ns) {
		pthread_t threads[THREADS];

		REMEDY_STORE(&stop, 0, relaxed);
		for (size_t i = 0; i < THREADS; i++) {
			readers[i].values = readers[i].olds = readers[i].leds = 0;
			pthread_create(&threads[i], NULL, read_values, &readers[i]);
		}
		nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
		REMEDY_STORE(&stop, 1, relaxed);
		for (size_t i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		for (size_t i = 0; i < THREADS; i++) {
			const struct reader *reader = &readers[i];

			values += reader->values;
			olds += reader->olds;
			most_ns = reader->most_ns > most_ns ? reader->most_ns : most_ns;
			for (size_t old = 0; old < reader->olds; old++)
				beyond += !was_going_on(reader->old[old]);
		}
	}
	printf("%llu %llu %llu %llu\n", (unsigned long long)values, (unsigned long long)olds,
	       (unsigned long long)most_ns, (unsigned long long)beyond);
	return 0;
}
