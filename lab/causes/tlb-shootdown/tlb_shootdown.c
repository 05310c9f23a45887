// SPDX-License-Identifier: MIT
/*
 * A burst of TLB shootdowns: for size_us a thread on shooter_cpu takes write permission from a
 * page and gives it back, and each time the CPU on which another thread of the process runs is
 * interrupted. The measured CPU is hit as long as that other thread runs on it.
 */
#include <pthread.h>

#include "cause_program.h"

static _Atomic uint64_t burst_end_ns;
static _Atomic bool over;
static uint64_t victim_cpu;

/* victim - runs while a burst lasts, so that its CPU has the address space loaded */
static void *victim(void *unused)
{
	(void)unused;
	cause_become(victim_cpu, 1);
	while (!atomic_load(&over)) {
		uint64_t end_ns = atomic_load(&burst_end_ns);

		if (cause_now() < end_ns)
			cause_spin(end_ns);
		else
			cause_sleep(cause_now() + 50 * CAUSE_NS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct cause_parameter parameters[] = {CAUSE_PARAMETERS, {"shooter_cpu", 1}, {0}};
	struct cause cause = {0};
	uint64_t size_ns;
	pthread_t thread;
	char *page;

	(void)argc;
	cause_open(&cause, parameters, argv);
	size_ns = cause_get(&cause, "size_us") * CAUSE_NS;
	victim_cpu = cause_get(&cause, "cpu");
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		cause_fail("no memory");
	cause_become(cause_get(&cause, "shooter_cpu"), 1);
	if (cause_get(&cause, "shooter_cpu") == victim_cpu) {
		fprintf(stderr, "whylate cause: a shootdown takes two CPUs\n");
		return 2;
	}
	if (pthread_create(&thread, NULL, victim, NULL) != 0)
		cause_fail("no thread");
	while (cause_wait(&cause)) {
		/* The victim looks every 50 us, and needs a moment to come. */
		uint64_t start_ns = cause_now() + 100 * CAUSE_NS, end_ns = start_ns + size_ns;

		atomic_store(&burst_end_ns, end_ns);
		cause_spin(start_ns);
		while (cause_now() < end_ns) {
			page[0]++;
			if (mprotect(page, 4096, PROT_READ) != 0 ||
			    mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0)
				cause_fail("mprotect");
		}
		cause_log(&cause, start_ns, cause_now(), victim_cpu);
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	return 0;
}
