// SPDX-License-Identifier: MIT
/*
 * A program whose system calls are known.
 *
 *	caller calls COUNT NUMBER	calls the system call NUMBER, without arguments, COUNT times
 *	caller sleeps COUNT NS LOG	sleeps so often so long, and logs CLOCK_MONOTONIC before and
 *					after each, ns
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int sleeps(long count, long ns, const char *log)
{
	uint64_t *times = calloc((size_t)count, 2 * sizeof(*times));
	struct timespec length = {.tv_nsec = ns};
	FILE *file = fopen(log, "w");

	if (!times || !file)
		return 1;
	for (long i = 0; i < count; i++) {
		times[2 * i] = now_ns();
		clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
		times[2 * i + 1] = now_ns();
	}
	for (long i = 0; i < count; i++)
		fprintf(file, "%llu %llu\n", (unsigned long long)times[2 * i],
			(unsigned long long)times[2 * i + 1]);
	return fclose(file) != 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "calls")) {
		for (long i = 0; i < atol(argv[2]); i++)
			syscall(atol(argv[3]));
		return 0;
	}
	if (argc == 5 && !strcmp(argv[1], "sleeps"))
		return sleeps(atol(argv[2]), atol(argv[3]), argv[4]);
	return 2;
}
