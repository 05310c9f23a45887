// SPDX-License-Identifier: MIT
#include "frequency.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "thread.h"

#define ROUNDS 20

/*
 * chain - count dependent exclusive-ors, eight a turn
 *
 * An exclusive-or of two registers takes one cycle on every CPU that this runs on, and unlike
 * an addition of a constant no CPU is known to fold a chain of them.
 */
static unsigned long chain(unsigned long turns, unsigned long value, unsigned long mask)
{
	while (turns--) {
#if defined(__x86_64__)
		__asm__ volatile("xor %1, %0\n\txor %1, %0\n\txor %1, %0\n\txor %1, %0\n\t"
				 "xor %1, %0\n\txor %1, %0\n\txor %1, %0\n\txor %1, %0"
				 : "+r"(value)
				 : "r"(mask)
				 : "cc");
#elif defined(__aarch64__) || defined(__arm__)
		__asm__ volatile("eor %0, %0, %1\n\teor %0, %0, %1\n\teor %0, %0, %1\n\t"
				 "eor %0, %0, %1\n\teor %0, %0, %1\n\teor %0, %0, %1\n\t"
				 "eor %0, %0, %1\n\teor %0, %0, %1"
				 : "+r"(value)
				 : "r"(mask));
#elif defined(__riscv)
		__asm__ volatile("xor %0, %0, %1\n\txor %0, %0, %1\n\txor %0, %0, %1\n\t"
				 "xor %0, %0, %1\n\txor %0, %0, %1\n\txor %0, %0, %1\n\t"
				 "xor %0, %0, %1\n\txor %0, %0, %1"
				 : "+r"(value)
				 : "r"(mask));
#else
#error "no chain of single-cycle instructions for this architecture"
#endif
	}
	return value;
}

static void run_chain(unsigned long value)
{
	volatile unsigned long kept = chain(FREQUENCY_CHAIN / 8, value, 0x5bd1e995);

	(void)kept;
}

static uint64_t best_round(void)
{
	uint64_t best_ns = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start_ns = clock_ns(), took_ns;

		run_chain((unsigned long)start_ns);
		took_ns = clock_ns() - start_ns;
		if (took_ns < best_ns)
			best_ns = took_ns;
	}
	return best_ns ? (uint64_t)FREQUENCY_CHAIN * NS_PER_S / best_ns : 0;
}

static int open_counter(uint64_t event, uint16_t cpu, bool user_only)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_HARDWARE,
	    .size = sizeof(attr),
	    .config = event,
	    .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	    .disabled = 1,
	    .exclude_kernel = user_only,
	    .exclude_hv = user_only,
	};
	/* The CPU chooses the kind of counter on a board with several kinds of CPUs. */
	long fd = syscall(SYS_perf_event_open, &attr, 0, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* open_any - open a counter of user mode alone, or of both modes where the hardware cannot leave
 * the kernel out: old ARM counters, the Cortex-A9's among them */
static int open_any(uint64_t event, uint16_t cpu)
{
	int fd = open_counter(event, cpu, true);
	int both = -1;

	if (fd == -EPERM || fd == -EINVAL || fd == -EOPNOTSUPP)
		both = open_counter(event, cpu, false);
	return both >= 0 ? both : fd;
}

static struct count close_counter(int fd)
{
	struct {
		uint64_t value, enabled_ns, running_ns;
	} reading;
	struct count count = {0};

	if (fd < 0)
		return (struct count){.error = -fd};
	if (read(fd, &reading, sizeof(reading)) != (ssize_t)sizeof(reading))
		count.error = EIO;
	else if (reading.running_ns < reading.enabled_ns || !reading.enabled_ns)
		count.error = EBUSY;
	else
		count.value = reading.value;
	close(fd);
	return count;
}

/* count_chain - count a chain; the thread has to stay on the CPU */
static struct counts count_chain(uint16_t cpu)
{
	int cycles = open_any(PERF_COUNT_HW_CPU_CYCLES, cpu);
	int instructions = open_any(PERF_COUNT_HW_INSTRUCTIONS, cpu);

	ioctl(instructions, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(cycles, PERF_EVENT_IOC_ENABLE, 0);
	run_chain(1);
	ioctl(cycles, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(instructions, PERF_EVENT_IOC_DISABLE, 0);
	return (struct counts){close_counter(cycles), close_counter(instructions)};
}

uint64_t frequency_measure(uint16_t cpu, struct counts *counts)
{
	cpu_set_t before[THREAD_CPU_SETS];
	uint64_t hz;

	if (sched_getaffinity(0, sizeof(before), before) || thread_pin(cpu))
		return 0;
	hz = best_round();
	*counts = count_chain(cpu);
	sched_setaffinity(0, sizeof(before), before);
	return hz;
}
