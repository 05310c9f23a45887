// SPDX-License-Identifier: MIT
#include "frequency.h"

#include <sched.h>
#include <stddef.h>

#include "clock.h"

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

/* count_chain - count what a chain costs by the counters of this CPU */
static void count_chain(uint16_t cpu, struct counts *counts)
{
	struct counting counting;

	counts_start(&counting, cpu);
	run_chain(1);
	counts_stop(&counting, counts);
}

uint64_t frequency_measure(uint16_t cpu, struct counts *counts)
{
	size_t size = CPU_ALLOC_SIZE(65536);
	cpu_set_t *before = CPU_ALLOC(65536), *only = CPU_ALLOC(65536);
	uint64_t hz = 0;

	if (before && only && sched_getaffinity(0, size, before) == 0) {
		CPU_ZERO_S(size, only);
		CPU_SET_S(cpu, size, only);
		if (sched_setaffinity(0, size, only) == 0) {
			hz = best_round();
			count_chain(cpu, counts);
			sched_setaffinity(0, size, before);
		}
	}
	CPU_FREE(before);
	CPU_FREE(only);
	return hz;
}
