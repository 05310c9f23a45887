// SPDX-License-Identifier: MIT
/*
 * shared_read_rates FORM WAIT THREADS SERVICE_NS MS - what a form of shared_read.h makes of a
 * device
 *
 * Threads read the emulated device again and again, which takes SERVICE_NS for a read. A reader
 * waits for it by spinning, as for a register, or lets other threads have the CPU (WAIT is spin or
 * yield). FORM is direct, strict or relaxed; strict and relaxed are calibrated first, as a program
 * would.
 *
 * Prints the calls, the elapsed time in ns, the median time in ns of 16 calls of the first thread
 * (which no interruption changes much), and the patience: 0 where nothing is shared.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../remedies/shared_read.h"
#include "serial_reads.h"

#define MOST_THREADS 64u
#define BATCH	     16u
#define MOST_BATCHES 65536u

static struct reader {
	pthread_t thread;
	uint64_t calls;
} __attribute__((aligned(64))) readers[MOST_THREADS];

static struct shared_read shared __attribute__((aligned(64)));
static struct serial_reads device __attribute__((aligned(64)));
static REMEDY_ATOMIC(int) ends __attribute__((aligned(64)));
static shared_value (*form)(struct shared_read *);
static pthread_barrier_t start_line;
static uint64_t batch_ns[MOST_BATCHES];
static size_t batches;

static shared_value read_device(void *context)
{
	return serial_read(context);
}

static void *read_on(void *argument)
{
	struct reader *reader = argument;

	pthread_barrier_wait(&start_line);
	while (!REMEDY_LOAD(&ends, relaxed)) {
		uint64_t started = now_ns();

		for (uint32_t i = 0; i < BATCH; i++)
			form(&shared);
		reader->calls += BATCH;
		if (reader == readers && batches < MOST_BATCHES)
			batch_ns[batches++] = now_ns() - started;
	}
	return NULL;
}

static int is_less(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* choose - take the words of the command line; 0 where one is invalid */
static int choose(char **words, uint32_t threads)
{
	device.service_ns = strtoull(words[4], NULL, 10);
	device.yields = !strcmp(words[2], "yield");
	form = !strcmp(words[1], "direct")    ? shared_read_direct
	       : !strcmp(words[1], "strict")  ? shared_read_strict
	       : !strcmp(words[1], "relaxed") ? shared_read_relaxed
					      : NULL;
	return form && (device.yields || !strcmp(words[2], "spin")) && threads >= 1 &&
	       threads <= MOST_THREADS && device.service_ns <= 1000000;
}

int main(int count, char **words)
{
	uint32_t threads = count == 6 ? (uint32_t)atoi(words[3]) : 0;
	uint32_t ms = count == 6 ? (uint32_t)atoi(words[5]) : 0;
	uint64_t calls = 0, started;

	if (count != 6 || !choose(words, threads) || !ms || ms > 10000) {
		fprintf(stderr,
			"usage: shared_read_rates direct|strict|relaxed spin|yield 1-%u "
			"SERVICE_NS MS\n",
			MOST_THREADS);
		return 2;
	}
	shared_read_init(&shared, read_device, &device, 64, 0);
	shared_read_calibrate(&shared, now_ns, 64);
	REMEDY_STORE(&device.free_ns, (uint64_t)0, relaxed);
	pthread_barrier_init(&start_line, NULL, threads + 1);
	for (uint32_t i = 0; i < threads; i++)
		if (pthread_create(&readers[i].thread, NULL, read_on, &readers[i]))
			return 1;
	pthread_barrier_wait(&start_line);
	started = now_ns();
	nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
	REMEDY_STORE(&ends, 1, relaxed);
	started = now_ns() - started;
	for (uint32_t i = 0; i < threads; i++) {
		pthread_join(readers[i].thread, NULL);
		calls += readers[i].calls;
	}
	qsort(batch_ns, batches, sizeof(batch_ns[0]), is_less);
	printf("%llu %llu %llu %u\n", (unsigned long long)calls, (unsigned long long)started,
	       (unsigned long long)(batches ? batch_ns[batches / 2] : 0), shared.patience);
	return 0;
}
