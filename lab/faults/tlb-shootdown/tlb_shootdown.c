// SPDX-License-Identifier: MIT
/*
 * A burst of TLB shootdowns: for size_us a thread on shooter_cpu takes write permission from a
 * page and gives it back, and each time the CPU on which another thread of the process runs is
 * interrupted. The measured CPU is hit as long as that other thread runs on it.
 */
#include <pthread.h>

#include "fault_program.h"

static _Atomic uint64_t burst_end_ns;
static _Atomic bool over;
static uint64_t victim_cpu;

/* victim - runs while a burst lasts, so that its CPU has the address space loaded */
static void *victim(void *unused)
{
	(void)unused;
	fault_become(victim_cpu, 1);
	while (!atomic_load(&over)) {
		uint64_t end_ns = atomic_load(&burst_end_ns);

		if (fault_now() < end_ns)
			fault_spin(end_ns);
		else
			fault_sleep(fault_now() + 50 * FAULT_NS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {"shooter_cpu", 1}, {0}};
	struct fault fault = {0};
	uint64_t size_ns;
	pthread_t thread;
	char *page;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	victim_cpu = fault_get(&fault, "cpu");
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		fault_fail("no memory");
	fault_become(fault_get(&fault, "shooter_cpu"), 1);
	if (fault_get(&fault, "shooter_cpu") == victim_cpu) {
		fprintf(stderr, "whylate fault: a shootdown takes two CPUs\n");
		return 2;
	}
	if (pthread_create(&thread, NULL, victim, NULL) != 0)
		fault_fail("no thread");
	while (fault_wait(&fault)) {
		/* The victim looks every 50 us, and needs a moment to come. */
		uint64_t start_ns = fault_now() + 100 * FAULT_NS, end_ns = start_ns + size_ns;

		atomic_store(&burst_end_ns, end_ns);
		fault_spin(start_ns);
		while (fault_now() < end_ns) {
			page[0]++;
			if (mprotect(page, 4096, PROT_READ) != 0 ||
			    mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0)
				fault_fail("mprotect");
		}
		fault_log(&fault, start_ns, fault_now(), victim_cpu);
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	return 0;
}
