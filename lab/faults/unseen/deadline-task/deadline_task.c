// SPDX-License-Identifier: MIT
/*
 * A thread of SCHED_DEADLINE, ahead of every real-time priority, is busy for size_us. It cannot be
 * bound to one CPU of several.
 */
#include "fault_beside.h"

/* As in linux/sched/types.h, which not all libraries go with. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

#define DEADLINE  6
#define MARGIN_NS 300000ull

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {0}};
	static struct fault_worker bystander = {.end = "_b"};
	struct attributes wanted = {.size = sizeof(wanted), .policy = DEADLINE};
	struct fault fault = {0};
	uint64_t size_ns, cpu;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	if (sysconf(_SC_NPROCESSORS_ONLN) != 1) {
		fprintf(stderr, "whylate fault: it takes a board of one CPU\n");
		return 2;
	}
	bystander.cpu = cpu;
	fault_worker_start(&bystander);
	wanted.runtime_ns = size_ns + MARGIN_NS;
	wanted.deadline_ns = wanted.period_ns = 2 * wanted.runtime_ns;
	if (syscall(SYS_sched_setattr, 0, &wanted, 0) != 0)
		fault_fail("no SCHED_DEADLINE");
	while (fault_wait(&fault)) {
		uint64_t start_ns;

		fault_beside(&bystander, size_ns);
		start_ns = fault_now();
		fault_log(&fault, start_ns, fault_busy(&fault, start_ns + size_ns, cpu), cpu);
	}
	return 0;
}
