// SPDX-License-Identifier: MIT
/* Two threads of one name, of which one takes the CPU for size_us and the other for a moment. */
#include "fault_beside.h"

#define PRIORITY 99
#define QUICK_NS 3000

static void *quick(void *argument)
{
	const struct fault *fault = argument;
	uint64_t period_ns = fault_get(fault, "period_us") * FAULT_NS;
	uint64_t at_ns = fault_now();

	fault_become(fault_get(fault, "cpu"), PRIORITY);
	fault_named("_w");
	for (;;) {
		/* In no fixed relation to the other. */
		at_ns += period_ns / 7 + 12345;
		fault_sleep(at_ns);
		fault_spin(fault_now() + QUICK_NS);
	}
	return NULL;
}

/* note_thread - write which of the two it is, for whoever checks the answer */
static void note_thread(void)
{
	char path[80];
	FILE *file;

	snprintf(path, sizeof(path), "/run/%s.busy", program_invocation_short_name);
	file = fopen(path, "we");
	if (!file)
		fault_fail(path);
	fprintf(file, "%d\n", (int)syscall(SYS_gettid));
	fclose(file);
}

static void *slow(void *argument)
{
	struct fault *fault = argument;
	uint64_t size_ns = fault_get(fault, "size_us") * FAULT_NS, cpu = fault_get(fault, "cpu");
	uint64_t acts = 0;

	fault_named("_x");
	fault_become(cpu, PRIORITY);
	note_thread();
	while (fault_wait(fault)) {
		uint64_t start_ns = fault_now();

		fault_log(fault, start_ns, fault_spin(start_ns + size_ns), cpu);
		/* From then on it has the other's name. */
		if (++acts == 200)
			fault_named("_w");
	}
	exit(0);
}

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {0}};
	static struct fault fault;
	pthread_t thread;

	(void)argc;
	fault_open(&fault, parameters, argv);
	fault_thread(&thread, quick, &fault);
	fault_thread(&thread, slow, &fault);
	for (;;)
		pause();
}
