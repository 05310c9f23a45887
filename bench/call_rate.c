// SPDX-License-Identifier: MIT
/*
 * call_rate THREADS PER_S SECONDS - call getppid() so often a second in all, from so many threads
 *
 * A thread that comes late calls more often until it has caught up. It prints how many calls there
 * were, and how long they took, s.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S     1000000000ull
#define STEP_NS	     1000000ull
#define MOST_THREADS 64

struct calls {
	uint64_t per_s, begin_ns, end_ns, made;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void *make_calls(void *data)
{
	struct calls *calls = data;
	uint64_t total = (calls->end_ns - calls->begin_ns) / STEP_NS * calls->per_s / 1000;

	for (uint64_t at = calls->begin_ns + STEP_NS; calls->made < total; at += STEP_NS) {
		struct timespec until = {(time_t)(at / NS_PER_S), (long)(at % NS_PER_S)};
		uint64_t due = (at - calls->begin_ns) / STEP_NS * calls->per_s / 1000;

		/* The last of those that came late may be due after the end. */
		if (due > total)
			due = total;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		for (; calls->made < due; calls->made++)
			syscall(SYS_getppid);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc == 4 ? atoi(argv[1]) : 0;
	static struct calls calls[MOST_THREADS];
	pthread_t ids[MOST_THREADS];
	uint64_t begin_ns = now_ns(), made = 0;

	if (threads < 1 || threads > MOST_THREADS)
		return 2;
	for (int i = 0; i < threads; i++) {
		calls[i] = (struct calls){strtoull(argv[2], NULL, 10) / (uint64_t)threads, begin_ns,
					  begin_ns + strtoull(argv[3], NULL, 10) * NS_PER_S, 0};
		if (pthread_create(&ids[i], NULL, make_calls, &calls[i]))
			return 1;
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		made += calls[i].made;
	}
	printf("%llu %.3f\n", (unsigned long long)made, (double)(now_ns() - begin_ns) / 1e9);
	return 0;
}
