// SPDX-License-Identifier: MIT
/*
 * The kernel prints lines on its console for size_us. They enter by /dev/kmsg at a level that
 * consoles show, and a kernel without PREEMPT_RT prints each at once, with interrupts
 * disabled, in the thread that wrote it. With PREEMPT_RT a thread of the console prints, which
 * cannot be preempted in parts of a line. Logged is the whole time of printing, of which an
 * activation is late by one line at most.
 */
#include "fault_program.h"
#include "fault_setting.h"

#define LIMIT "/proc/sys/kernel/printk_devkmsg"

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {"columns", 120}, {0}};
	static struct fault_settings settings;
	struct fault fault = {0};
	uint64_t size_ns, cpu;
	size_t length;
	char line[512];
	int kmsg;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	length = fault_get(&fault, "columns");
	if (length < 1 || length > 400) {
		fprintf(stderr, "whylate fault: a line has 1 to 400 columns\n");
		return 2;
	}
	memcpy(line, "<1>", 3);
	memset(line + 3, '-', length);
	kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (kmsg < 0)
		fault_fail("/dev/kmsg");
	/* More than ten lines in five seconds are kept back else. */
	fault_keep(&settings, LIMIT);
	fault_guard(&settings);
	fault_set(LIMIT, "on");
	fault_become(cpu, 1);
	while (fault_wait(&fault)) {
		uint64_t start_ns = fault_now();

		do
			if (write(kmsg, line, length + 3) < 0)
				fault_fail("/dev/kmsg");
		while (fault_now() < start_ns + size_ns);
		fault_log(&fault, start_ns, fault_now(), cpu);
	}
	fault_unguard(&settings);
	return 0;
}
