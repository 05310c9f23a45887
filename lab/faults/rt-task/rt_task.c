// SPDX-License-Identifier: MIT
/* A real-time thread of a higher priority than what is measured, busy for size_us. */
#include "fault_program.h"
#include "fault_switches.h"

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {"priority", 99}, {0}};
	struct fault_switches switches = {0};
	struct fault fault = {0};
	uint64_t size_ns, cpu;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	fault_become(cpu, (int)fault_get(&fault, "priority"));
	fault_switches_open(&switches, cpu);
	while (fault_wait(&fault)) {
		uint64_t start_ns = fault_now();
		uint64_t end_ns = fault_busy_since(&fault, start_ns, start_ns + size_ns, cpu);

		/* The kernel tells of a stretch when it is over: of this one the next time. */
		if (switches.page)
			fault_switches_log(&switches, &fault, size_ns, cpu, start_ns, end_ns);
		else
			fault_log(&fault, start_ns, end_ns, cpu);
	}
	return 0;
}
