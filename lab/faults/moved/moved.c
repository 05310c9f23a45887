// SPDX-License-Identifier: MIT
/*
 * The measured thread is moved to another CPU, where a thread of a higher priority is busy for
 * size_us, and then moved back.
 */
#include "fault_beside.h"

#define ABOVE 96

static void move(pid_t thread, uint64_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((int)cpu, &set);
	/* It may have ended. */
	if (sched_setaffinity(thread, sizeof(set), &set) != 0 && errno != ESRCH)
		fault_fail("the CPU cannot be used");
}

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {
	    FAULT_PARAMETERS, {"measured", 95}, {"other_cpu", 1}, {0}};
	static struct fault_worker bystander = {.end = "_b"}, busy = {.end = "_e"};
	struct fault_measured measured = {0};
	struct fault fault = {0};
	uint64_t size_ns, cpu, other;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	other = fault_get(&fault, "other_cpu");
	measured.cpu = cpu;
	measured.priority = (int)fault_get(&fault, "measured");
	if (cpu == other) {
		fprintf(stderr, "whylate fault: to be moved takes two CPUs\n");
		return 2;
	}
	bystander.cpu = cpu;
	busy.cpu = other;
	busy.priority = ABOVE;
	fault_worker_start(&bystander);
	fault_worker_start(&busy);
	while (fault_wait(&fault)) {
		uint64_t start_ns;

		fault_become(cpu, 0);
		if (!fault_find(&measured))
			continue;
		fault_become(cpu, ABOVE);
		fault_beside(&bystander, size_ns);
		start_ns = fault_now();
		/* Longer than that: it does not run there before it is moved back. */
		fault_worker_go(&busy, start_ns + size_ns + 2 * FAULT_BESIDE_NS);
		move(measured.thread, other);
		fault_sleep(start_ns + size_ns);
		move(measured.thread, cpu);
		fault_log(&fault, start_ns, fault_now(), cpu);
	}
	return 0;
}
