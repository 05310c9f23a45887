// SPDX-License-Identifier: MIT
/*
 * A thread that has the priority of the measured one, and is busy for size_us: first come, first
 * served (SCHED_FIFO).
 */
#include "fault_beside.h"

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {"measured", 95}, {0}};
	static struct fault_worker bystander = {.end = "_b"};
	struct fault fault = {0};
	uint64_t size_ns, cpu;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	bystander.cpu = cpu;
	fault_worker_start(&bystander);
	fault_become(cpu, (int)fault_get(&fault, "measured"));
	while (fault_wait(&fault)) {
		uint64_t start_ns;

		fault_beside(&bystander, size_ns);
		start_ns = fault_now();
		fault_log(&fault, start_ns, fault_busy(&fault, start_ns + size_ns, cpu), cpu);
	}
	return 0;
}
