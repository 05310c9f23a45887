// SPDX-License-Identifier: MIT
/* A debugger stops the measured thread alone for size_us, and lets go of it (ptrace). */
#include <sys/ptrace.h>

#include "fault_beside.h"

#define ABOVE 96

/* stop - false: it has ended */
static bool stop(pid_t thread)
{
	int status;

	if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0)
		return false;
	if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0)
		return false;
	return waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status);
}

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
		if (!stop(measured.thread))
			continue;
		fault_sleep(start_ns + size_ns);
		ptrace(PTRACE_DETACH, measured.thread, NULL, NULL);
		fault_log(&fault, start_ns, fault_now(), cpu);
	}
	return 0;
}
