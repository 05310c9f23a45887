// SPDX-License-Identifier: MIT
/* A real-time thread of a higher priority than what is measured, busy for size_us. */
#include "cause_program.h"

int main(int argc, char **argv)
{
	static struct cause_parameter parameters[] = {CAUSE_PARAMETERS, {"priority", 99}, {0}};
	struct cause cause = {0};
	uint64_t size_ns, cpu;

	(void)argc;
	cause_open(&cause, parameters, argv);
	size_ns = cause_get(&cause, "size_us") * CAUSE_NS;
	cpu = cause_get(&cause, "cpu");
	cause_become(cpu, (int)cause_get(&cause, "priority"));
	while (cause_wait(&cause)) {
		uint64_t start_ns = cause_now();

		cause_log(&cause, start_ns, cause_spin(start_ns + size_ns), cpu);
	}
	return 0;
}
