// SPDX-License-Identifier: MIT
/* The measured process is stopped by SIGSTOP, and goes on after size_us by SIGCONT. */
#include "fault_beside.h"

#define ABOVE 96

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {"measured", 95}, {0}};
	static struct fault_worker bystander = {.end = "_b"};
	struct fault_measured measured = {0};
	struct fault fault = {0};
	uint64_t size_ns, cpu;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	measured.cpu = cpu;
	measured.priority = (int)fault_get(&fault, "measured");
	bystander.cpu = cpu;
	fault_worker_start(&bystander);
	while (fault_wait(&fault)) {
		uint64_t start_ns;

		fault_become(cpu, 0);
		if (!fault_find(&measured))
			continue;
		fault_become(cpu, ABOVE);
		fault_beside(&bystander, size_ns);
		start_ns = fault_now();
		/* To the thread that handles it at once; it stops them all. */
		if (syscall(SYS_tgkill, measured.process, measured.thread, SIGSTOP) != 0)
			continue;
		fault_sleep(start_ns + size_ns);
		kill(measured.process, SIGCONT);
		fault_log(&fault, start_ns, fault_now(), cpu);
	}
	return 0;
}
