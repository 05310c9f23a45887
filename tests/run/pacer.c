// SPDX-License-Identifier: MIT
/*
 * Two threads that sleep to absolute deadlines, and note when each was, and whether it was still to
 * come just before they slept: "pid due_ns 1" a line.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 4096

struct pace {
	int64_t interval_ns;
	int count;
	long tid;
	int64_t due_ns[MOST];
	int ahead[MOST];
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void *pace(void *argument)
{
	struct pace *pace = argument;
	struct timespec until;
	int64_t due_ns;

	pace->tid = syscall(SYS_gettid);
	due_ns = now_ns();
	for (int i = 0; i < pace->count; i++) {
		due_ns += pace->interval_ns;
		until = (struct timespec){due_ns / 1000000000, due_ns % 1000000000};
		pace->ahead[i] = now_ns() < due_ns;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		pace->due_ns[i] = due_ns;
	}
	return NULL;
}

static void write_down(FILE *log, const struct pace *pace)
{
	for (int i = 0; i < pace->count; i++)
		fprintf(log, "%ld %lld %d\n", pace->tid, (long long)pace->due_ns[i], pace->ahead[i]);
}

int main(int argc, char **argv)
{
	static struct pace fast = {.interval_ns = 1000000, .count = 2000};
	static struct pace slow = {.interval_ns = 4000000, .count = 500};
	FILE *log = argc > 1 ? fopen(argv[1], "w") : NULL;
	pthread_t thread;

	if (!log || pthread_create(&thread, NULL, pace, &fast))
		return 1;
	pthread_setname_np(thread, "wl-fast");
	pace(&slow);
	pthread_join(thread, NULL);
	write_down(log, &fast);
	write_down(log, &slow);
	return fclose(log) ? 1 : 7;
}
