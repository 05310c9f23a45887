// SPDX-License-Identifier: MIT
/* Two threads that sleep to absolute deadlines, and note when each was: "pid due_ns" a line. */
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
};

static void *pace(void *argument)
{
	struct pace *pace = argument;
	struct timespec now;
	int64_t due_ns;

	pace->tid = syscall(SYS_gettid);
	clock_gettime(CLOCK_MONOTONIC, &now);
	due_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	for (int i = 0; i < pace->count; i++) {
		due_ns += pace->interval_ns;
		now = (struct timespec){due_ns / 1000000000, due_ns % 1000000000};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &now, NULL);
		pace->due_ns[i] = due_ns;
	}
	return NULL;
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
	for (int i = 0; i < fast.count; i++)
		fprintf(log, "%ld %lld\n", fast.tid, (long long)fast.due_ns[i]);
	for (int i = 0; i < slow.count; i++)
		fprintf(log, "%ld %lld\n", slow.tid, (long long)slow.due_ns[i]);
	return fclose(log) ? 1 : 7;
}
