// SPDX-License-Identifier: MIT
/*
 * Real-time threads have used up their share of the CPU, and all of them are kept from it until
 * the share's period ends: size_us of each rt_period_us belong to the others. A thread of the
 * lowest real-time priority spins until it was kept off once, and logs the hole in its own
 * time, at whose beginning another thread may have had the CPU for a moment.
 */
#include "cause_program.h"
#include "cause_setting.h"

#define PERIOD	"/proc/sys/kernel/sched_rt_period_us"
#define RUNTIME "/proc/sys/kernel/sched_rt_runtime_us"
/* Other real-time threads take the CPU too, but not for so long. */
#define HOLE_NS 1000000ull

/* set_share - in an order in which no step asks for more than the period has */
static void set_share(uint64_t period_us, uint64_t others_us)
{
	char text[24];

	cause_set(RUNTIME, "-1");
	snprintf(text, sizeof(text), "%" PRIu64, period_us);
	cause_set(PERIOD, text);
	snprintf(text, sizeof(text), "%" PRIu64, period_us - others_us);
	cause_set(RUNTIME, text);
}

int main(int argc, char **argv)
{
	static struct cause_parameter parameters[] = {
	    CAUSE_PARAMETERS, {"rt_period_us", 50000}, {0}};
	static struct cause_settings settings;
	struct cause cause = {0};
	uint64_t size_ns, hole_ns, cpu, rt_period_us;

	(void)argc;
	cause_open(&cause, parameters, argv);
	size_ns = cause_get(&cause, "size_us") * CAUSE_NS;
	hole_ns = size_ns / 2 < HOLE_NS ? size_ns / 2 : HOLE_NS;
	cpu = cause_get(&cause, "cpu");
	rt_period_us = cause_get(&cause, "rt_period_us");
	/* Written back last to first: the period before the runtime, and first none at all. */
	cause_keep(&settings, RUNTIME);
	cause_keep(&settings, PERIOD);
	cause_keep(&settings, RUNTIME);
	strcpy(settings.all[2].old, "-1");
	cause_guard(&settings);
	set_share(rt_period_us, size_ns / CAUSE_NS);
	cause_become(cpu, 1);
	while (cause_wait(&cause)) {
		uint64_t before_ns = cause_now(),
			 give_up_ns = before_ns + 4 * rt_period_us * CAUSE_NS;
		uint64_t now_ns = before_ns;

		while (!cause_ended && now_ns < give_up_ns) {
			now_ns = cause_now();
			if (now_ns - before_ns > hole_ns) {
				cause_log(&cause, before_ns, now_ns, cpu);
				break;
			}
			before_ns = now_ns;
		}
	}
	cause_unguard(&settings);
	return 0;
}
