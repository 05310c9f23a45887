// SPDX-License-Identifier: MIT
/*
 * Real-time threads have used up their share of the CPU, and all of them are kept from it until
 * the share's period ends: size_us of each rt_period_us belong to the others. A thread of the
 * lowest real-time priority spins until it was kept off once, and logs the hole in its own
 * time, at whose beginning another thread may have had the CPU for a moment.
 */
#include "fault_program.h"
#include "fault_setting.h"

#define PERIOD	"/proc/sys/kernel/sched_rt_period_us"
#define RUNTIME "/proc/sys/kernel/sched_rt_runtime_us"
/* Other real-time threads take the CPU too, but not for so long. */
#define HOLE_NS 1000000ull

/* set_share - in an order in which no step asks for more than the period has */
static void set_share(uint64_t period_us, uint64_t others_us)
{
	char text[24];

	fault_set(RUNTIME, "-1");
	snprintf(text, sizeof(text), "%" PRIu64, period_us);
	fault_set(PERIOD, text);
	snprintf(text, sizeof(text), "%" PRIu64, period_us - others_us);
	fault_set(RUNTIME, text);
}

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {
	    FAULT_PARAMETERS, {"rt_period_us", 50000}, {0}};
	static struct fault_settings settings;
	struct fault fault = {0};
	uint64_t size_ns, hole_ns, cpu, rt_period_us;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	hole_ns = size_ns / 2 < HOLE_NS ? size_ns / 2 : HOLE_NS;
	cpu = fault_get(&fault, "cpu");
	rt_period_us = fault_get(&fault, "rt_period_us");
	/* Written back last to first: the period before the runtime, and first none at all. */
	fault_keep(&settings, RUNTIME);
	fault_keep(&settings, PERIOD);
	fault_keep(&settings, RUNTIME);
	strcpy(settings.all[2].old, "-1");
	fault_guard(&settings);
	set_share(rt_period_us, size_ns / FAULT_NS);
	fault_become(cpu, 1);
	while (fault_wait(&fault)) {
		uint64_t before_ns = fault_now(),
			 give_up_ns = before_ns + 4 * rt_period_us * FAULT_NS;
		uint64_t now_ns = before_ns;

		while (!fault_ended && now_ns < give_up_ns) {
			now_ns = fault_now();
			if (now_ns - before_ns > hole_ns) {
				fault_log(&fault, before_ns, now_ns, cpu);
				break;
			}
			before_ns = now_ns;
		}
	}
	fault_unguard(&settings);
	return 0;
}
