/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Running maxima of interrupts and softirqs: the longest execution of each, the longest total of
 * several in a row, and how densely it came.
 *
 * Windows show what happened around a few activations; these are of every interrupt and softirq.
 * Executions count without what interrupted them, as in the pieces of a latency.
 */
#ifndef WHYLATE_RECORDER_BPF_MAXIMA_H
#define WHYLATE_RECORDER_BPF_MAXIMA_H

#include "cpu.h"

/* device_place - the place of a device's interrupt */
ALWAYS_INLINE __u32 device_place(struct recorder_bpf_cpu *cpu, __u32 number)
{
	__u32 place = MAXIMA_DEVICES + number % MAXIMA_DEVICES_MOST;
	__u64 device = cpu->shared.maximum[place].device;

	if (likely(device == 1 + (__u64)number))
		return place;
	if (device)
		return MAXIMA_OTHERS;
	cpu->shared.maximum[place].device = 1 + (__u64)number;
	return place;
}

/* vector_place - the place of an interrupt that is no device's */
ALWAYS_INLINE __u32 vector_place(__u8 vector)
{
	return vector % MAXIMA_SOFTIRQS;
}

/* shorten - keep a time that is shorter than the kept one, or the first */
ALWAYS_INLINE void shorten(struct recorder_maximum *maximum, __u32 i, __u64 span_ns)
{
	if (unlikely(span_ns <= maximum->span_ns[i] - 1))
		maximum->span_ns[i] = span_ns;
}

ALWAYS_INLINE void came(struct recorder_maximum *maximum, __u64 now)
{
	__u64 number = maximum->arrivals++;

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < MAXIMUM_EXACT; i++)
		shorten(maximum, i,
			now - maximum->began_ns[(number - MAXIMUM_GAPS(i)) % MAXIMUM_ARRIVALS]);
	maximum->began_ns[number % MAXIMUM_ARRIVALS] = now;
	if (likely(number % MAXIMUM_ARRIVALS))
		return;
	number /= MAXIMUM_ARRIVALS;
#pragma clang loop unroll(full)
	for (__u32 i = MAXIMUM_EXACT; i < MAXIMUM_SPANS; i++)
		shorten(maximum, i,
			now - maximum->sixteenth_ns[(number - MAXIMUM_GAPS(i) / MAXIMUM_ARRIVALS) %
						    MAXIMUM_SIXTEENTHS]);
	maximum->sixteenth_ns[number % MAXIMUM_SIXTEENTHS] = now;
}

ALWAYS_INLINE void took(struct recorder_maximum *maximum, __u64 attached_ns, __u64 since_ns,
			__u64 ns)
{
	__u64 number = maximum->executions;

	if (since_ns < attached_ns)
		return;
	maximum->executions = number + 1;
	maximum->before_ns[number % MAXIMUM_EXECUTIONS] = maximum->total_ns;
	maximum->total_ns += ns;
	/* Before the first ones it was 0, as is what was not written yet. Accounts that correct
	 * each other later may make a short time negative. */
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < MAXIMUM_TOTALS; i++) {
		__u64 total_ns =
		    maximum->total_ns -
		    maximum->before_ns[(number + 1 - MAXIMUM_ROW(i)) % MAXIMUM_EXECUTIONS];

		if (unlikely((__s64)total_ns > (__s64)maximum->longest_total_ns[i]))
			maximum->longest_total_ns[i] = total_ns;
	}
	if (likely((__s64)ns <= (__s64)maximum->longest_ns))
		return;
	maximum->longest_ns = ns;
	maximum->longest_at_ns = since_ns;
}

/* interrupt_came - an interrupt was entered, and is counted in cpu->interrupts */
ALWAYS_INLINE void interrupt_came(struct recorder_bpf_cpu *cpu, __u32 place, __u64 now)
{
	__u64 depth = cpu->interrupts - 1;

	if (depth < NESTED_MOST) {
		depth %= NESTED_MOST;
		cpu->nested[depth].place = place;
		cpu->nested[depth].since_ns = now;
		cpu->nested[depth].inner_ns = 0;
	}
	came(&cpu->shared.maximum[place], now);
}

/* interrupt_is_done - an interrupt is left, and is still counted in cpu->interrupts */
ALWAYS_INLINE void interrupt_is_done(struct recorder_bpf_cpu *cpu, __u32 place, __u64 now)
{
	__u64 depth = cpu->interrupts - 1, ns;

	/* Of one that nobody saw begin nothing is known. */
	if (depth >= NESTED_MOST || cpu->nested[depth % NESTED_MOST].place != place)
		return;
	ns = now - cpu->nested[depth % NESTED_MOST].since_ns;
	took(&cpu->shared.maximum[place], cpu->shared.attached_ns,
	     cpu->nested[depth % NESTED_MOST].since_ns,
	     ns - cpu->nested[depth % NESTED_MOST].inner_ns);
	if (depth)
		cpu->nested[(depth - 1) % NESTED_MOST].inner_ns += ns;
}

/* softirq_came - a softirq begins; all time until now is accounted for */
ALWAYS_INLINE void softirq_came(struct recorder_bpf_cpu *cpu, __u64 vector, __u64 now)
{
	cpu->softirq = cpu->since_ns ? 1 + vector : 0;
	cpu->softirq_since_ns = now;
	cpu->softirq_sum_ns = cpu->sums[SUM_SOFTIRQ];
	came(&cpu->shared.maximum[MAXIMA_SOFTIRQS + vector % SOFTIRQ_ROOM], now);
}

/* softirq_is_done - a softirq is over; all time until now is accounted for: with PREEMPT_RT its
 * thread may have been switched away from meanwhile, and nobody else handles any on this CPU */
ALWAYS_INLINE void softirq_is_done(struct recorder_bpf_cpu *cpu, __u64 vector)
{
	if (cpu->softirq == 1 + vector)
		took(&cpu->shared.maximum[MAXIMA_SOFTIRQS + vector % SOFTIRQ_ROOM],
		     cpu->shared.attached_ns, cpu->softirq_since_ns,
		     cpu->sums[SUM_SOFTIRQ] - cpu->softirq_sum_ns);
	cpu->softirq = 0;
}

#endif
