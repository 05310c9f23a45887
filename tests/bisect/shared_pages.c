/* SPDX-License-Identifier: MIT */
/* Map 2 MiB of shared memory, touch it and unmap it, again and again; print p99 of the CPU time. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { TIMES = 300, BYTES = 2 << 20, PAGE = 4096 };

static long cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

static int compare(const void *one, const void *other)
{
	long a = *(const long *)one, b = *(const long *)other;

	return (a > b) - (a < b);
}

int main(void)
{
	static long took_ns[TIMES];

	for (int n = 0; n < TIMES; n++) {
		long began_ns = cpu_ns();
		char *memory =
		    mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return 1;
		for (long at = 0; at < BYTES; at += PAGE)
			memory[at] = 1;
		munmap(memory, BYTES);
		took_ns[n] = cpu_ns() - began_ns;
	}
	qsort(took_ns, TIMES, sizeof(took_ns[0]), compare);
	printf("p99 %ld ns\n", took_ns[TIMES * 99 / 100]);
	return 0;
}
