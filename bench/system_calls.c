// SPDX-License-Identifier: MIT
/* system_calls - print how long a call of getppid() takes, ns: medians of blocks; and how many */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BLOCK  200
#define BLOCKS 5000

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *first, const void *second)
{
	double a = *(const double *)first, b = *(const double *)second;

	return (a > b) - (a < b);
}

int main(void)
{
	static double took_ns[BLOCKS];

	for (int block = 0; block < BLOCKS; block++) {
		double began_ns = now_ns();

		for (int i = 0; i < BLOCK; i++)
			syscall(SYS_getppid);
		took_ns[block] = (now_ns() - began_ns) / BLOCK;
	}
	qsort(took_ns, BLOCKS, sizeof(*took_ns), compare);
	printf("%.3f %d\n", took_ns[BLOCKS / 2], BLOCK * BLOCKS);
	return 0;
}
