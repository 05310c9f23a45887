// SPDX-License-Identifier: MIT
/* A real-time thread of a higher priority than what is measured, busy for size_us. */
#include "cause_program.h"
#include "cause_switches.h"

int main(int argc, char **argv)
{
	static struct cause_parameter parameters[] = {CAUSE_PARAMETERS, {"priority", 99}, {0}};
	struct cause_switches switches = {0};
	struct cause cause = {0};
	uint64_t size_ns, cpu;

	(void)argc;
	cause_open(&cause, parameters, argv);
	size_ns = cause_get(&cause, "size_us") * CAUSE_NS;
	cpu = cause_get(&cause, "cpu");
	cause_become(cpu, (int)cause_get(&cause, "priority"));
	cause_switches_open(&switches, cpu);
	while (cause_wait(&cause)) {
		uint64_t start_ns = cause_now();
		uint64_t end_ns = cause_busy(&cause, start_ns + size_ns, cpu);

		/* The kernel tells of a stretch when it is over: of this one the next time. */
		if (switches.page)
			cause_switches_log(&switches, &cause, size_ns, cpu, start_ns, end_ns);
		else
			cause_log(&cause, start_ns, end_ns, cpu);
	}
	return 0;
}
