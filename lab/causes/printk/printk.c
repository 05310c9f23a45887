// SPDX-License-Identifier: MIT
/*
 * The kernel prints lines on its console for size_us. They enter by /dev/kmsg at a level that
 * consoles show, and an ordinary kernel prints each at once, with interrupts off, in whoever
 * printed; one with PREEMPT_RT leaves it to a thread of the console, which cannot be preempted in
 * parts of a line. Logged is the whole time of printing, of which an activation is late by one
 * line at most.
 */
#include "cause_program.h"
#include "cause_setting.h"

#define LIMIT "/proc/sys/kernel/printk_devkmsg"

int main(int argc, char **argv)
{
	static struct cause_parameter parameters[] = {CAUSE_PARAMETERS, {"columns", 120}, {0}};
	static struct cause_settings settings;
	struct cause cause = {0};
	uint64_t size_ns, cpu;
	size_t length;
	char line[512];
	int kmsg;

	(void)argc;
	cause_open(&cause, parameters, argv);
	size_ns = cause_get(&cause, "size_us") * CAUSE_NS;
	cpu = cause_get(&cause, "cpu");
	length = cause_get(&cause, "columns");
	if (length < 1 || length > 400) {
		fprintf(stderr, "whylate cause: a line has 1 to 400 columns\n");
		return 2;
	}
	memcpy(line, "<1>", 3);
	memset(line + 3, '-', length);
	kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (kmsg < 0)
		cause_fail("/dev/kmsg");
	/* More than ten lines in five seconds are kept back else. */
	cause_keep(&settings, LIMIT);
	cause_guard(&settings);
	cause_set(LIMIT, "on");
	cause_become(cpu, 1);
	while (cause_wait(&cause)) {
		uint64_t start_ns = cause_now();

		do
			if (write(kmsg, line, length + 3) < 0)
				cause_fail("/dev/kmsg");
		while (cause_now() < start_ns + size_ns);
		cause_log(&cause, start_ns, cause_now(), cpu);
	}
	cause_unguard(&settings);
	return 0;
}
