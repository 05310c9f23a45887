// SPDX-License-Identifier: MIT
/*
 * A system call whose work lies between two places where the kernel looks for something better to
 * do: poll() of so many descriptors that it takes about size_us.
 */
#include <poll.h>
#include <sys/resource.h>

#include "fault_beside.h"

#define MOST  100000
#define FIRST 1000

static struct pollfd wanted[MOST];

static uint64_t ask(nfds_t count)
{
	uint64_t start_ns = fault_now();

	if (poll(wanted, count, 0) < 0)
		fault_fail("poll");
	return fault_now() - start_ns;
}

/* fitting - how many descriptors take so long, by what some take */
static nfds_t fitting(uint64_t size_ns)
{
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t took_ns = ask(FIRST);

		least_ns = took_ns < least_ns ? took_ns : least_ns;
	}
	size_ns = size_ns * FIRST / (least_ns ? least_ns : 1);
	return size_ns < 1 ? 1 : size_ns > MOST ? MOST : size_ns;
}

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {0}};
	static struct fault_worker bystander = {.end = "_b"};
	struct rlimit limit = {MOST, MOST};
	struct fault fault = {0};
	uint64_t size_ns, cpu;
	int pipes[2];
	nfds_t count;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || pipe(pipes) != 0)
		fault_fail("descriptors");
	for (size_t i = 0; i < MOST; i++)
		wanted[i] = (struct pollfd){.fd = pipes[0], .events = POLLIN};
	bystander.cpu = cpu;
	fault_worker_start(&bystander);
	/* Above other loads, and below whatever is measured. */
	fault_become(cpu, 1);
	count = fitting(size_ns);
	while (fault_wait(&fault)) {
		uint64_t start_ns;

		fault_beside(&bystander, size_ns);
		start_ns = fault_now();
		fault_log(&fault, start_ns, start_ns + ask(count), cpu);
	}
	return 0;
}
