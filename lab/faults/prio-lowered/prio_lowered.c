// SPDX-License-Identifier: MIT
/*
 * The measured thread's priority is lowered from outside for size_us, and meanwhile a thread whose
 * priority lies between has the CPU. Then it gets its priority back.
 */
#include "fault_beside.h"

#define LOW   10
#define BUSY  50
#define ABOVE 96

static void set(pid_t thread, int priority)
{
	struct sched_param wanted = {.sched_priority = priority};

	/* It may have ended. */
	if (sched_setscheduler(thread, SCHED_FIFO, &wanted) != 0 && errno != ESRCH)
		fault_fail("no priority");
}

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {"measured", 95}, {0}};
	static struct fault_worker bystander = {.end = "_b"}, busy = {.end = "_e"};
	struct fault_measured measured = {0};
	struct fault fault = {0};
	uint64_t size_ns, cpu;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	measured.cpu = cpu;
	measured.priority = (int)fault_get(&fault, "measured");
	bystander.cpu = busy.cpu = cpu;
	busy.priority = BUSY;
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
		set(measured.thread, LOW);
		fault_worker_go(&busy, start_ns + size_ns);
		fault_sleep(start_ns + size_ns);
		set(measured.thread, measured.priority);
		fault_log(&fault, start_ns, fault_now(), cpu);
	}
	return 0;
}
